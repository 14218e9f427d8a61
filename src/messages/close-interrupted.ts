import * as Y from 'yjs'
import type { Locks } from '../core/environment.ts'
import { interruptMessage } from './document-layout.ts'
import type { LiveDocument } from './live-document.ts'

/**
 * Closes messages that this device was streaming when its tab died (H11): complete, with what had come, and marked as
 * interrupted. Not while another tab of this device streams, which `lockName` proves; a writer that was only slow opens
 * its message again. Other devices' streams are theirs to close. Returns how many were closed.
 */
export async function closeInterrupted(document: LiveDocument, locks: Locks, lockName: string): Promise<number> {
  const { mirror, device } = document
  const open = () =>
    mirror.slots().filter((slot) => {
      const message = mirror.read(slot)
      return message?.status === 'streaming' && message.device === device
    })
  if (open().length === 0) return 0
  return locks.request(lockName, { ifAvailable: true }, (held) => {
    if (!held || document.ended.aborted) return 0
    const left = open()
    document.edit(() => {
      for (const { map } of left) if (map instanceof Y.Map) interruptMessage(map)
    })
    return left.length
  })
}
