import type { Environment } from '../../../src/core/environment.ts'

/** The same channels, with a count of what is posted on them. */
export function countPosts(open: Environment['openChannel']): {
  readonly openChannel: Environment['openChannel']
  readonly posted: () => number
} {
  let count = 0
  return {
    openChannel(name) {
      const channel = open(name)
      return {
        ...channel,
        post(message) {
          count++
          channel.post(message)
        },
      }
    },
    posted: () => count,
  }
}
