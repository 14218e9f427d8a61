import * as Y from 'yjs'
import type { UpdateRow } from '../core/device-session.ts'

/**
 * A new document, with a client id of its own, that holds what the rows hold. They are applied in their order and in
 * one transaction. A row that cannot be applied is left out and told of: one bad row never costs the session.
 */
export function buildDocument(rows: readonly UpdateRow[], origin: object, onBad: (row: UpdateRow) => void): Y.Doc {
  let sound = rows
  for (;;) {
    const doc = new Y.Doc()
    let at = 0
    try {
      doc.transact(() => {
        for (; at < sound.length; at++) Y.applyUpdate(doc, (sound[at] as UpdateRow).bytes, origin)
      }, origin)
      return doc
    } catch (error) {
      doc.destroy() // it may hold half of the bad row
      if (at === sound.length) throw error
      const failed = sound[at]
      sound = sound.filter((row) => {
        const good = row !== failed && isUpdate(row.bytes)
        if (!good) onBad(row)
        return good
      })
    }
  }
}

/** True if the bytes are an update; whether it can be applied shows only then. */
export function isUpdate(bytes: Uint8Array): boolean {
  try {
    Y.decodeUpdate(bytes)
    return true
  } catch {
    return false
  }
}
