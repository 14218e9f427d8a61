import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import path from 'node:path'

/** Each is done or not done, also where the machine stops in the middle. */
export interface FileMoves {
  /** A second name, which must be free. */
  readonly link: (from: string, to: string) => void
  readonly rename: (from: string, to: string) => void
  readonly remove: (file: string) => void
  /** What was done to a file, or to the names in a folder, survives a power cut. */
  readonly sync: (fileOrFolder: string) => void
}

export interface Replacement {
  /** A database in one file, without a write-ahead log. */
  readonly fresh: string
  readonly file: string
  /** The name under which what was there is kept. */
  readonly kept: string
}

/**
 * Puts a fresh database in the place of a data file. Whenever it is broken off, the old file is there with its own log,
 * or the fresh one without any: SQLite would take a log that lies beside a file for that file's.
 */
export function replaceDataFile({ fresh, file, kept }: Replacement, moves: FileMoves): void {
  moves.sync(fresh)
  if (existsSync(file)) moves.link(file, kept)
  // A database that can be opened was brought into one file before. This is the log of one that is damaged, or gone.
  if (existsSync(`${file}-wal`)) moves.rename(`${file}-wal`, `${kept}-wal`)
  moves.remove(`${file}-shm`)
  moves.sync(path.dirname(file))
  moves.rename(fresh, file)
  moves.sync(path.dirname(file))
}

export const fileMoves: FileMoves = {
  link(from, to) {
    try {
      linkSync(from, to)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
      // Not every file system has links.
      copyFileSync(from, to, constants.COPYFILE_EXCL)
      fileMoves.sync(to)
    }
  },
  rename: renameSync,
  remove: (file) => rmSync(file, { force: true }),
  sync(fileOrFolder) {
    let handle: number
    try {
      handle = openSync(fileOrFolder, 'r')
    } catch {
      // Windows opens no folders, and keeps their names by itself.
      return
    }
    try {
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  },
}
