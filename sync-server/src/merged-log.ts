import * as Y from 'yjs'
import { UPDATES_PAGE_BYTES } from '../../src/protocol/limits.ts'
import type { LogPage } from './store.ts'

/** A log as one update, for peers who know state vectors and no positions. */
export interface MergedLog {
  /** The log as it stands now; calls wait for each other. */
  readonly read: () => Promise<MergedState>
}

export interface MergedState {
  readonly update: Uint8Array
  readonly stateVector: Uint8Array
}

interface Merged extends MergedState {
  readonly incarnation: string
  readonly head: number
}

const EMPTY_UPDATE = new Uint8Array([0, 0])
const NOTHING: Merged = { incarnation: '', head: 0, update: EMPTY_UPDATE, stateVector: new Uint8Array([0]) }

/**
 * Keeps the merged log while its room is open, and brings it forward when it is read. It is computed by applying to a
 * document and encoding that: merging updates takes quadratic time.
 */
export function createMergedLog(
  readPage: (after: number, maxBytes: number) => Promise<LogPage | undefined>,
): MergedLog {
  let merged: Promise<Merged> = Promise.resolve(NOTHING)

  async function bringForward(from: Merged): Promise<Merged> {
    const first = await readPage(from.head, UPDATES_PAGE_BYTES)
    if (!first) return NOTHING
    if (from !== NOTHING && first.incarnation !== from.incarnation) return bringForward(NOTHING)
    if (first.entries.length === 0) return { ...from, incarnation: first.incarnation }
    const doc = new Y.Doc()
    try {
      apply(doc, from.update)
      let head = from.head
      for (let page: LogPage | undefined = first; page; ) {
        if (page.incarnation !== first.incarnation) return bringForward(NOTHING)
        for (const { seq, bytes } of page.entries) {
          apply(doc, bytes)
          head = seq
        }
        page = page.more ? await readPage(head, UPDATES_PAGE_BYTES) : undefined
      }
      const update = Y.encodeStateAsUpdate(doc)
      return { incarnation: first.incarnation, head, update, stateVector: Y.encodeStateVector(doc) }
    } finally {
      doc.destroy()
    }
  }

  return {
    read: () => {
      const next = merged.then(bringForward)
      merged = next.catch(() => NOTHING)
      return next
    },
  }
}

/** A row that cannot be applied, as after a damage, must not keep the others from the peers. */
function apply(doc: Y.Doc, update: Uint8Array): void {
  try {
    Y.applyUpdate(doc, update)
  } catch {
    // What was readable of it is applied.
  }
}
