import type { Channel } from '../core/environment.ts'

/**
 * A BroadcastChannel in memory: who opens a name through the same hub hears the others of that name, each message as a
 * copy, in order, and never at once. For a page that has none, and for tabs that are simulated.
 */
export function createMemoryChannels(): (name: string) => Channel {
  const members = new Map<string, Set<(message: unknown) => void>>()

  return (name) => {
    const others = members.get(name) ?? new Set()
    members.set(name, others)
    let listener: ((message: unknown) => void) | undefined
    const receive = (message: unknown) => listener?.(message)
    others.add(receive)

    return {
      post(message) {
        if (!others.has(receive)) return
        for (const other of others) {
          if (other === receive) continue
          const copy: unknown = structuredClone(message)
          void Promise.resolve().then(() => other(copy))
        }
      },
      listen(next) {
        listener = next
      },
      close() {
        listener = undefined
        others.delete(receive)
        if (others.size === 0 && members.get(name) === others) members.delete(name)
      },
    }
  }
}
