import { test } from 'vitest'

/** vitest's `test` for a published suite: the report says why a rule was skipped that an implementation cannot be asked. */
export function testOrSkip(reason: string) {
  return Object.assign((name: string, run: () => Promise<void>) => test(name, run), {
    skip: (name: string) => test(name, ({ skip }) => skip(reason)),
  })
}
