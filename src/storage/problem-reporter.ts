import type { RejoinError } from '../errors.ts'
import type { Access } from './rows.ts'

/** One report when storage fails and one when it works again, however many calls failed in between. */
export interface ProblemReporter {
  readonly failed: (problem: RejoinError) => void
  /** A transaction was committed. */
  readonly worked: (access: Access) => void
}

export function createProblemReporter(onProblem: (problem: RejoinError | undefined) => void): ProblemReporter {
  let current: RejoinError | undefined
  return {
    failed(problem) {
      if (problem.code === current?.code) return
      current = problem
      onProblem(problem)
    },
    worked(access) {
      // A full disk can be read: only a write shows that there is room again.
      if (!current || (access === 'read' && current.code === 'storage-full')) return
      current = undefined
      onProblem(undefined)
    },
  }
}
