import * as Y from 'yjs'

/** What a server's log has, learned from its updates. */
export interface LogState {
  readonly add: (updates: readonly Uint8Array[]) => void
  readonly stateVector: () => Uint8Array
  readonly release: () => void
}

export function createLogState(): LogState {
  const doc = new Y.Doc()
  return {
    add(updates) {
      doc.transact(() => {
        for (const update of updates) {
          try {
            Y.applyUpdate(doc, update)
          } catch {
            // What was readable of it counts; the rest is sent again, and the server knows it.
          }
        }
      })
    },
    stateVector: () => Y.encodeStateVector(doc),
    release: () => doc.destroy(),
  }
}
