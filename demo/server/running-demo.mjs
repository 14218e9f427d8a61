import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

// The demo that runs on a data folder leaves a note in it, so that a second one there can say so before it builds
// anything. It only tells where to look: what keeps the data from two servers is the lock on their file.

const ANSWER_WITHIN_MS = 2000
const noteIn = (folder) => path.join(folder, 'running.json')

/** Leaves the note; resolves with the way to take it away. */
export async function noteRunning(folder, url) {
  await writeFile(noteIn(folder), `${JSON.stringify({ pid: process.pid, url })}\n`)
  return () => rm(noteIn(folder), { force: true })
}

/** The demo that runs on this folder. A note that a killed process left behind counts for nothing. */
export async function findRunning(folder) {
  try {
    const { pid, url } = JSON.parse(await readFile(noteIn(folder), 'utf8'))
    process.kill(pid, 0)
    const { ok } = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    return ok ? { pid, url } : undefined
  } catch {
    return undefined
  }
}
