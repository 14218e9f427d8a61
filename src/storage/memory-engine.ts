import type { MemoryDisk } from './memory-disk.ts'
import { memoryRows } from './memory-rows.ts'
import type { Engine, Rows } from './rows.ts'
import { closedError } from './storage-error.ts'

/** Transactions over memory: one at a time, each whole or not at all. */
export function createMemoryEngine(disk: MemoryDisk, persistent: boolean): Engine {
  let closed = false
  let last: Promise<unknown> = Promise.resolve()

  async function run<Found, Result>(
    read: (rows: Rows) => Promise<Found>,
    decide: (found: Found, rows: Rows) => Result | Promise<Result>,
  ): Promise<Result> {
    const undo: (() => void)[] = []
    const rows = memoryRows(disk, (back) => undo.push(back))
    try {
      return await decide(await read(rows), rows)
    } catch (error) {
      for (const back of undo.reverse()) back()
      throw error
    }
  }

  return {
    persistent,
    transaction(_access, _stores, read, decide) {
      if (closed) return Promise.reject(closedError())
      const result = disk.idle.then(() => run(read, decide))
      disk.idle = result.catch(() => {})
      last = disk.idle
      return result
    },
    async close() {
      closed = true
      await last
    },
  }
}
