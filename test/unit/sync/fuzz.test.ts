import type { ConnectedChat, Rejoin } from 'rejoin'
import { expect, test, vi } from 'vitest'
import { createTestServer, deskChat, type Refunds, SESSION, statuses, texts } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

/*
 * Two devices with a tab or two each, against a real server, under a random schedule: requests and replies are lost and
 * late, networks are cut, tabs close and open, the server stops and starts, or is put back to a backup. Then the world
 * heals, and: each refund ran at most once, and exactly once where it is approved (G1, G2, G3); every device is level and
 * shows the same (G5, G9); nothing that was stored is missing (G4); what nobody finished is listed for a person (F16).
 */
const STEPS = 26
const SCHEDULES = [
  { seed: 1, restores: 0, rules: 'G1 G2 G3 G4 G5 G9 F16' },
  { seed: 2, restores: 0, rules: 'G1 G2 G3 G4 G5 G9 F16' },
  { seed: 3, restores: 1, rules: 'I5 F48 G1 G2 G3 G4 G5 G9' },
  { seed: 4, restores: 2, rules: 'I5 F48 G1 G2 G3 G4 G5 G9' },
]

interface Tab {
  readonly name: string
  readonly device: TestDevice
  readonly rejoin: Rejoin
  /** Absent where the session could not be loaded: a device that was offline since before it began. */
  readonly chat: ConnectedChat | undefined
}

function createRandom(seed: number) {
  let state = seed * 7919
  const next = () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) / 0x7fffff
  }
  return { next, pick: <T>(all: readonly T[]) => all[Math.floor(next() * all.length) % all.length] as T }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

for (const { seed, restores, rules } of SCHEDULES) {
  test(`${rules} two devices under a random schedule of faults, restores: ${restores}, seed ${seed}`, {
    timeout: 60_000,
  }, async () => {
    const { next, pick } = createRandom(seed)
    const server = await createTestServer()
    const refunds: Refunds = { ran: new Map(), during: () => pause(next() * 100) }
    const said: string[] = []
    const log: string[] = []
    const asked: Promise<unknown>[] = []
    let faults = true
    let proposals = 0
    let sayings = 0
    const note = (what: string) => (error: unknown) => {
      log.push(`${what}: ${(error as { code?: string }).code ?? error}`)
    }

    async function open(device: TestDevice, name: string): Promise<Tab> {
      const lossy: typeof fetch = async (input, init) => {
        const fault = faults ? next() : 0.5
        if (fault < 0.06) throw new TypeError('the request was lost')
        if (fault < 0.12) await pause(next() * 60)
        const response = await device.environment.fetch(input, init)
        if (fault > 0.88) throw new TypeError('the reply was lost')
        return response
      }
      const rejoin = await device.open({ environment: { ...device.environment, fetch: lossy } })
      const chat = await deskChat(rejoin, name, refunds, { answer: ['a ', 'b ', 'c'] }).catch(note(`${name} open`))
      return { name, device, rejoin, chat: chat ?? undefined }
    }

    async function step(tabs: Tab[], at: number): Promise<void> {
      const tab = tabs[at] as Tab
      const { chat, device, name } = tab
      const roll = next()
      if (roll < 0.12) device.goOffline()
      else if (roll < 0.24) device.goOnline()
      else if (roll < 0.29) {
        await server.stop()
        await server.start()
      } else if (roll < 0.34) {
        chat?.close()
        asked.push(tab.rejoin.close())
        tabs[at] = await open(device, `${name}'`)
      } else if (chat && roll < 0.5) {
        const id = `${name}-${proposals++}`
        asked.push(chat.confirmation.propose({ name: 'refund', input: { id } }).catch(note('propose')))
      } else if (chat && roll < 0.8) {
        const pending = chat.session.getConfirmations().filter(({ status }) => status === 'pending')
        if (pending.length === 0) return
        const { token } = pick(pending)
        const decide = next() < 0.75 ? chat.confirmation.approve : chat.confirmation.reject
        asked.push(decide(token, SESSION).catch(note(`${name} decides`)))
      } else if (chat && chat.controller.getState().status !== 'streaming') {
        const text = next() < 0.5 ? pick(['/start', '/stop']) : `said by ${name} ${sayings++}`
        asked.push(say(tab, chat, text).catch(note('send')))
      }
    }

    /** What its tab was told to be stored is not to be lost; one that closed before may have kept nothing of it. */
    async function say({ rejoin }: Tab, chat: ConnectedChat, text: string): Promise<void> {
      await chat.controller.send(text)
      await rejoin.messages(SESSION).whenStored()
      if (!text.startsWith('/')) said.push(text)
    }

    function expectLevel(tabs: readonly Tab[]): void {
      for (const { rejoin, name } of tabs) expect(rejoin.status.get().state, name).toBe('synced')
      const [first, ...others] = tabs.filter((tab) => tab.chat !== undefined)
      if (!first?.chat) return
      for (const { rejoin, chat } of others) {
        expect(texts(rejoin)).toEqual(texts(first.rejoin))
        expect(chat && statuses(chat)).toEqual(statuses(first.chat))
        expect(chat?.session.getConversationSnapshot()?.state).toBe(first.chat.session.getConversationSnapshot()?.state)
      }
      for (const text of said) expect(texts(first.rejoin)).toContain(text)
      const listed = tabs.flatMap(({ rejoin }) => rejoin.attention.get()).filter((item) => item.kind === 'claim')
      for (const { token, status, input } of first.chat.session.getConfirmations()) {
        const runs = refunds.ran.get((input as { id: string }).id)?.length ?? 0
        if (status === 'approved') expect(runs).toBe(1)
        if (status === 'rejected') expect(runs).toBe(0)
        // Of one that was under way in a backup, its holder or a person has to say what became of it, rule I5.
        const unfinished = restores === 0 && /ing$/.test(status) && status !== 'pending'
        if (unfinished) expect(listed.some((item) => item.token === token)).toBe(true)
      }
    }

    const devices = ['laptop', 'phone'].map((label) => createTestDevice(label, server.url))
    const tabs: Tab[] = []
    for (const [at, device] of devices.entries()) {
      tabs.push(await open(device, `${at}a`))
      if (next() < 0.7) tabs.push(await open(device, `${at}b`))
    }
    const backUpAt = 2 + Math.floor(next() * 8)
    const restoreAt = [backUpAt + 3 + Math.floor(next() * 8), backUpAt + 13].slice(0, restores)
    for (let count = 0; count < STEPS; count++) {
      if (restores > 0 && count === backUpAt) await server.backUp()
      if (restoreAt.includes(count)) await server.restore()
      await step(tabs, Math.floor(next() * tabs.length))
      await pause(next() * 60)
    }
    faults = false
    for (const device of devices) device.goOnline()
    try {
      // A hint that was lost is healed by the next look at the feed, which may be 20 s away.
      await vi.waitFor(() => expectLevel(tabs), { timeout: 30_000, interval: 20 })
    } catch (error) {
      throw new Error(`seed ${seed}\n${log.join('\n')}\nran ${JSON.stringify([...refunds.ran])}`, { cause: error })
    }
    for (const by of refunds.ran.values()) expect(by).toHaveLength(1)
    await Promise.all(devices.map((device) => device.close()))
    await Promise.allSettled(asked)
    await server.end()
  })
}
