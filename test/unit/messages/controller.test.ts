import { type ChatController, createChatController, type Message, type PersistenceRegime } from '@agentskit/core'
import { describe, expect, test } from 'vitest'
import { createManualAdapter } from '../stand-in/manual-adapter.ts'
import { createDevice, settled, type Tab } from './tabs.ts'

// A real chat's controller on our memory, in both ways in which controllers save.

const regimes: PersistenceRegime[] = ['every-change', 'finalized']

function openChat(tab: Tab, regime: PersistenceRegime) {
  const adapter = createManualAdapter()
  let refunds = 0
  const refund = {
    name: 'refund',
    requiresConfirmation: true,
    execute: (args: Record<string, unknown>) => {
      args.seen = true // tools do such things
      return `refund ${++refunds}`
    },
  }
  const controller = createChatController({ adapter, memory: tab.memory(), tools: [refund], regime })
  const answer = async (work: Promise<void> | void, ...words: string[]) => {
    await settled()
    for (const word of words) await adapter.sources.at(-1)?.text(word)
    await adapter.sources.at(-1)?.end()
    await work
    await settled()
  }
  return { adapter, controller, answer, refunds: () => refunds }
}

/** Without the member names that a controller sets to undefined. */
const plain = (messages: readonly Message[]) => JSON.parse(JSON.stringify(messages)) as unknown
const shown = (controller: ChatController) => plain(controller.getState().messages as Message[])
const kept = async (tab: Tab) => plain(await tab.memory().load())

describe.each(regimes)('%s', (regime) => {
  test('M1 what a chat shows after each turn is what a reload shows', async () => {
    const device = createDevice()
    const tab = await device.openTab()
    const { controller, answer } = openChat(tab, regime)
    await answer(controller.send('one'), 'first ', 'answer')
    expect(await kept(tab)).toEqual(shown(controller))
    await answer(controller.send('two'), 'second')
    await answer(controller.regenerate(), 'third')
    expect(await kept(tab)).toEqual(shown(controller))
    const [first] = controller.getState().messages
    await answer(controller.edit(first?.id ?? '', 'one, edited'), 'again')
    expect(shown(controller)).toHaveLength(2)
    expect(await kept(tab)).toEqual(shown(controller))

    const next = openChat(await device.openTab(), regime)
    await settled()
    expect(shown(next.controller)).toEqual(shown(controller))
    await controller.clear()
    await settled()
    expect(await kept(tab)).toEqual([])
  })

  test('H1 H2 a chat that is stopped or typed into before its history has come wipes nothing', async () => {
    const device = createDevice()
    const first = openChat(await device.openTab(), regime)
    await first.answer(first.controller.send('hello'), 'hi')
    const tab = await device.openTab()
    const { controller } = openChat(tab, regime)
    controller.setInput('d')
    controller.stop()
    await settled()
    expect(shown(controller)).toEqual(shown(first.controller))
    expect(await kept(tab)).toEqual(shown(first.controller))
  })

  test('H3 a turn that is sent before the history has come is added to it', async () => {
    const device = createDevice()
    const first = openChat(await device.openTab(), regime)
    await first.answer(first.controller.send('hello'), 'hi')
    const tab = await device.openTab()
    const { controller, answer } = openChat(tab, regime)
    await answer(controller.send('quick'), 'fine')
    expect((await tab.memory().load()).map(({ content }) => content)).toEqual(['hello', 'hi', 'quick', 'fine'])
  })

  test('H5 two tabs that both go on lose nothing of each other', async () => {
    const device = createDevice()
    const tabs = [await device.openTab(), await device.openTab()] as const
    const [a, b] = [openChat(tabs[0], regime), openChat(tabs[1], regime)]
    await settled()
    await a.answer(a.controller.send('of a'), 'to a')
    await b.answer(b.controller.send('of b'), 'to b')
    await a.answer(a.controller.send('of a again'), 'to a again')
    const all = (await tabs[1].memory().load()).map(({ content }) => content)
    expect(all).toEqual(['of a', 'to a', 'of b', 'to b', 'of a again', 'to a again'])
    expect(await kept(tabs[0])).toEqual(await kept(tabs[1]))
  })

  test('H7 a chat that is given another session’s memory writes nothing into it', async () => {
    const tab = await createDevice().openTab()
    const { controller, answer } = openChat(tab, regime)
    await answer(controller.send('for s1'), 'yes')
    controller.updateConfig({ memory: tab.memory('s2') })
    await answer(controller.send('still for s1'), 'yes')
    expect(await tab.memory('s2').load()).toEqual([])
    expect(tab.store.messages('s2').problem()).toMatchObject({ code: 'refused' })
  })

  test('H12 H14 a proposed call is confirmed, runs, and is kept with its answer, also when the list is fed back', async () => {
    const device = createDevice()
    const tab = await device.openTab()
    const { controller, answer, refunds } = openChat(tab, regime)
    await answer(controller.send('refund please'), 'sure')
    await controller.proposeToolCall({ id: 'c1', name: 'refund', args: { order: 7 } })
    await settled()
    if (regime === 'every-change') expect(tab.store.messages('s1').toolCall('c1')?.status).toBe('requires_confirmation')
    await answer(controller.approve('c1'), 'done')
    expect(refunds()).toBe(1)
    expect(tab.store.messages('s1').toolCall('c1')).toMatchObject({ status: 'complete', result: 'refund 1' })
    expect(await kept(tab)).toEqual(shown(controller))
    controller.setMessages([...tab.store.messages('s1').get()])
    await answer(controller.send('thanks'), 'welcome')
    expect(await kept(tab)).toEqual(shown(controller))
    expect(await kept(await device.openTab())).toEqual(shown(controller))
  })
})
