import { expect, test } from 'vitest'
import type { Environment } from '../../../src/core/environment.ts'

/** The rules of `Channel`. */
export function testChannels(name: string, open: Environment['openChannel']): void {
  const unique = () => `channel-${Math.random()}`

  test(`${name}: what one tab posts, every other tab of the name receives in order as a copy, never the poster`, async () => {
    const scope = unique()
    const [poster, second, third, stranger] = [open(scope), open(scope), open(scope), open(unique())]
    const heard: Record<string, unknown[]> = { poster: [], second: [], stranger: [] }
    poster.listen((message) => heard.poster?.push(message))
    second.listen((message) => heard.second?.push(message))
    stranger.listen((message) => heard.stranger?.push(message))
    const last = new Promise<void>((resolve) => {
      third.listen((message) => {
        if (message === 'end') resolve()
      })
    })
    const message = { bytes: Uint8Array.of(1, 2) }
    poster.post(message)
    message.bytes[0] = 9
    poster.post('end')
    expect(heard.second).toEqual([])
    await last
    expect(heard).toEqual({ poster: [], second: [{ bytes: Uint8Array.of(1, 2) }, 'end'], stranger: [] })
    for (const channel of [poster, second, third, stranger]) channel.close()
  })

  test(`${name}: a closed channel hears nothing, and what is posted on it is nothing`, async () => {
    const scope = unique()
    const [closed, poster, witness] = [open(scope), open(scope), open(scope)]
    const heard: unknown[] = []
    closed.listen((message) => heard.push(message))
    const seen: unknown[] = []
    const end = new Promise<void>((resolve) => {
      witness.listen((message) => {
        seen.push(message)
        if (message === 'end') resolve()
      })
    })
    closed.close()
    closed.close()
    closed.post('from the dead')
    poster.post('end')
    await end
    expect(heard).toEqual([])
    expect(seen).toEqual(['end'])
    poster.close()
    witness.close()
  })

  test(`${name}: what was posted just before close still arrives`, async () => {
    const scope = unique()
    const [poster, other] = [open(scope), open(scope)]
    const heard = new Promise((resolve) => other.listen(resolve))
    poster.post('last words')
    poster.close()
    expect(await heard).toBe('last words')
    other.close()
  })
}
