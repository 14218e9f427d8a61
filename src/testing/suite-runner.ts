/** The part of a test runner's `expect` that the suites use. */
export type Expect = (actual: unknown) => {
  readonly toBe: (expected: unknown) => void
  readonly toEqual: (expected: unknown) => void
}

/** The part of a test runner's `test` that the suites use. */
export type DeclareTest = ((name: string, run: () => Promise<void>) => unknown) & {
  readonly skip: (name: string, run: () => Promise<void>) => unknown
}

/** True if `run` throws or rejects, whatever with. */
export async function rejects(run: () => unknown): Promise<boolean> {
  try {
    await run()
    return false
  } catch {
    return true
  }
}
