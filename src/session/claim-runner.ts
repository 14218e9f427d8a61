import type { ClaimHandler, LiveClaims } from '../contract/live-session-storage.ts'
import type { Permissions } from './permissions.ts'
import { type ChatToConfirm, runDecision, waits } from './run-decision.ts'

export interface ClaimRunnerOptions {
  readonly sessionId: string
  readonly claims: LiveClaims
  readonly lifetime: AbortSignal
  readonly permissions: Permissions
}

/**
 * Runs the claims of a session that were queued and won later, in one of the session's chats. Returns how to add a
 * chat; the storage hands claims to this page only while there is one.
 */
export function createClaimRunner(options: ClaimRunnerOptions): (chat: ChatToConfirm, signal?: AbortSignal) => void {
  const { sessionId, claims, lifetime, permissions } = options
  /** One entry each time a chat is added: the same chat may be added twice, with an end of its own each time. */
  const entries = new Set<{ readonly chat: ChatToConfirm }>()
  let stop: (() => void) | undefined

  const run: ClaimHandler = async ({ toolCallId, want }) => {
    const newestFirst = [...entries].map(({ chat }) => chat).reverse()
    // A chat that was made and never shown, as React's strict mode makes them, does not have the call.
    const chat =
      newestFirst.find((each) => waits(each, toolCallId) === true) ??
      newestFirst.find((each) => waits(each, toolCallId) === undefined || want === 'expiring')
    return chat ? runDecision(chat, { toolCallId, want }, permissions) : 'nothing-to-run'
  }

  return (chat, signal = lifetime) => {
    if (lifetime.aborted || signal.aborted) return
    const entry = { chat }
    entries.add(entry)
    stop ??= claims.run(sessionId, run)
    const remove = () => {
      entries.delete(entry)
      if (entries.size > 0) return
      stop?.()
      stop = undefined
    }
    for (const each of new Set([signal, lifetime])) each.addEventListener('abort', remove, { once: true })
  }
}
