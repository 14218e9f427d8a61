import { expect, test } from 'vitest'
import type { Locks } from '../../../src/core/environment.ts'

/** The rules of `Locks`; `createTab` gives another tab of the same origin. */
export function testLocks(name: string, createTab: () => Locks): void {
  const gate = () => {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    return { open, opened }
  }
  const unique = () => `lock-${Math.random()}`

  test(`${name}: F38 a lock has one holder, and those who wait get it in order`, async () => {
    const [tab, other] = [createTab(), createTab()]
    const lock = unique()
    const log: string[] = []
    const first = gate()
    const holding = gate()
    const all = [
      tab.request(lock, {}, async () => {
        holding.open()
        await first.opened
        log.push('first')
      }),
    ]
    await holding.opened
    for (const [each, who] of [
      [other, 'second'],
      [tab, 'third'],
      [other, 'fourth'],
    ] as const) {
      all.push(
        each.request(lock, {}, async (held) => {
          expect(held).toBe(true)
          log.push(`${who} in`)
          await Promise.resolve()
          log.push(`${who} out`)
        }),
      )
    }
    expect(await tab.isHeld(lock)).toBe(true)
    first.open()
    await Promise.all(all)
    expect(log).toEqual(['first', 'second in', 'second out', 'third in', 'third out', 'fourth in', 'fourth out'])
  })

  test(`${name}: ifAvailable answers false at once while somebody holds the lock`, async () => {
    const [tab, other] = [createTab(), createTab()]
    const lock = unique()
    const ask = () => other.request(lock, { ifAvailable: true }, (held) => held)
    expect(await ask()).toBe(true)
    const seen = await tab.request(lock, {}, async () => [await ask(), await other.isHeld(lock)])
    expect(seen).toEqual([false, true])
    expect(await ask()).toBe(true)
    expect(await tab.isHeld(lock)).toBe(false)
  })

  test(`${name}: the result of the holder is handed on, and its error frees the lock`, async () => {
    const tab = createTab()
    const lock = unique()
    expect(await tab.request(lock, {}, () => 7)).toBe(7)
    const error = new Error('no')
    await expect(tab.request(lock, {}, () => Promise.reject(error))).rejects.toBe(error)
    await expect(
      tab.request(lock, {}, () => {
        throw error
      }),
    ).rejects.toBe(error)
    expect(await tab.isHeld(lock)).toBe(false)
  })

  test(`${name}: an aborted signal ends the wait with its reason, and not the hold`, async () => {
    const [tab, other] = [createTab(), createTab()]
    const lock = unique()
    const done = gate()
    const holding = gate()
    const holder = new AbortController()
    const waiter = new AbortController()
    const hold = tab.request(lock, { signal: holder.signal }, async () => {
      holding.open()
      await done.opened
      return 'held to the end'
    })
    await holding.opened
    let ran = false
    const wait = other.request(lock, { signal: waiter.signal }, () => {
      ran = true
    })
    const next = other.request(lock, {}, () => 'next')
    const reason = new Error('not any more')
    waiter.abort(reason)
    await expect(wait).rejects.toBe(reason)
    holder.abort()
    done.open()
    expect(await hold).toBe('held to the end')
    expect(await next).toBe('next')
    expect(ran).toBe(false)
  })

  test(`${name}: a signal that is aborted already asks for nothing`, async () => {
    const tab = createTab()
    const reason = new Error('too late')
    for (const ifAvailable of [false, true]) {
      const request = tab.request(unique(), { ifAvailable, signal: AbortSignal.abort(reason) }, () => 'ran')
      await expect(request).rejects.toBe(reason)
    }
  })

  test(`${name}: ifAvailable and a signal may be given together`, async () => {
    const { signal } = new AbortController()
    expect(await createTab().request(unique(), { ifAvailable: true, signal }, (held) => held)).toBe(true)
  })

  test(`${name}: the holder never runs before the request has returned`, async () => {
    const log: string[] = []
    const request = createTab().request(unique(), {}, () => log.push('held'))
    log.push('returned')
    await request
    expect(log).toEqual(['returned', 'held'])
  })
}
