import { cutConversation, initialState } from './conversation-chain.ts'
import type { Decided, DeviceSession } from './device-session.ts'

/**
 * Cuts the decisions whose message no tab will store any more, rule R8. `cursor` is the one of the snapshot for which
 * that was seen: what was saved since is looked at again. False: there was nothing to cut, and nothing moved.
 */
export function cutOrphans(
  { row }: DeviceSession,
  cursor: number,
  hasMessage: (messageId: string) => boolean,
): Decided<boolean> {
  const conversation = row?.local?.conversation
  if (!row?.local || row.deleted || !conversation || row.local.cursor !== cursor) return { result: false }
  const kept = cutConversation(conversation, row.initial ?? initialState(conversation), hasMessage)
  if (kept.cut.length === 0) return { result: false }
  const local = { ...row.local, cursor: cursor + 1, conversation: kept.conversation }
  const diverged = [...(row.diverged ?? []), ...kept.cut]
  return { change: { row: { ...row, local, diverged, dirty: true } }, result: true }
}
