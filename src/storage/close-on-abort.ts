import type { Database } from './database.ts'
import { closedError } from './storage-error.ts'

/** The database, closed by `signal` too. `release` runs once, before it closes. Throws `closed` if already aborted. */
export async function closeOnAbort(
  database: Database,
  signal: AbortSignal | undefined,
  release: () => void = () => {},
): Promise<Database> {
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      signal?.removeEventListener('abort', closeNow)
      release()
      await database.close()
    })()
    return closing
  }
  const closeNow = () => void close()
  signal?.addEventListener('abort', closeNow)
  if (signal?.aborted) {
    await close()
    throw closedError()
  }
  return { ...database, close }
}
