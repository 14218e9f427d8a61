import { expect, test } from 'vitest'
import type { MetaRow } from '../../../src/core/device-session.ts'
import type { Common } from '../../../src/protocol/answer-fields.ts'
import { createRemoteChanges } from '../../../src/sync/apply-remote.ts'
import { createConnection } from '../../../src/sync/connection.ts'
import type { SyncContext } from '../../../src/sync/sync-context.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const answer = (epoch: string, time = 0): Common => ({ server: 's', account: 'test', epoch, time })

/** A device without sessions, whose every look at its rows takes a turn; `entered` says what epochs it took in. */
function openDevice(meta: MetaRow) {
  let now = meta
  let meanwhile = () => {}
  const entered: (string | undefined)[] = []
  const context = {
    database: {
      meta: async () => now,
      async sessions() {
        await turn()
        return []
      },
    },
    connection: createConnection({ state: 'online' }, () => true),
    environment: { now: () => 0 },
    meta: () => now,
    async updateMeta(change: (meta: MetaRow) => MetaRow) {
      await turn()
      meanwhile()
      now = change(now)
    },
  } as unknown as SyncContext
  const remote = createRemoteChanges(context, () => entered.push(now.epoch))
  /** Another tab does so, right before the next write of this one. */
  const enterElsewhere = (epoch: string) => {
    meanwhile = () => {
      now = { ...now, epoch, since: 0 }
    }
  }
  return { remote, entered, meta: () => now, enterElsewhere }
}

const meta: MetaRow = {
  device: 'd1',
  label: 'Laptop',
  account: 'test',
  realm: '',
  serverId: 's',
  epoch: '100-a',
  since: 7,
  clockOffsetMs: 0,
}

test('I5 of two epochs that begin at once both are entered, and the later one stands', async () => {
  const device = openDevice(meta)
  const heard = await Promise.all([
    device.remote.hear(answer('200-b')),
    device.remote.hear(answer('300-c')),
    device.remote.hear(answer('300-c')),
  ])
  expect(heard.slice(1)).toEqual([true, true])
  expect(device.entered.at(-1)).toBe('300-c')
  expect(device.meta()).toMatchObject({ epoch: '300-c', since: 0 })
})

test('I5 an answer of an epoch that ends while it is taken in is not used, and does not bring the epoch back', async () => {
  const device = openDevice(meta)
  device.enterElsewhere('200-b')
  // Its clock is to be learned, which takes a write.
  expect(await device.remote.hear(answer('100-a', 60_000))).toBe(false)
  expect(device.meta()).toMatchObject({ epoch: '200-b', clockOffsetMs: 60_000 })
})
