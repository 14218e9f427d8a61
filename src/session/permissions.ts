/** A decision that was claimed, or that needs no claim, while a chat is asked to carry it out. */
interface Permission {
  readonly decision: 'approve' | 'deny'
  taken: boolean
}

/**
 * The calls that coordinators of a session have their chats decide at the moment. A chat that asks the session's store of
 * decisions before it acts is let through here, once: whoever else asks finds the call claimed.
 */
export interface Permissions {
  /** Runs `act` with the permission to decide the call so. */
  readonly hold: <T>(toolCallId: string, decision: Permission['decision'], act: () => Promise<T>) => Promise<T>
  /** Given, and not used yet. */
  readonly isOpen: (toolCallId: string) => boolean
  /** True for the first who asks for what was permitted. */
  readonly take: (toolCallId: string, decision: Permission['decision']) => boolean
  readonly isTaken: (toolCallId: string) => boolean
}

export function createPermissions(): Permissions {
  const held = new Map<string, Permission>()
  return {
    hold: async (toolCallId, decision, act) => {
      const permission: Permission = { decision, taken: false }
      held.set(toolCallId, permission)
      try {
        return await act()
      } finally {
        if (held.get(toolCallId) === permission) held.delete(toolCallId)
      }
    },
    isOpen: (toolCallId) => held.get(toolCallId)?.taken === false,
    take: (toolCallId, decision) => {
      const permission = held.get(toolCallId)
      if (!permission || permission.taken || permission.decision !== decision) return false
      permission.taken = true
      return true
    },
    isTaken: (toolCallId) => held.get(toolCallId)?.taken === true,
  }
}
