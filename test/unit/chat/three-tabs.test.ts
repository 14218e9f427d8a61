import { type AdapterFactory, createChatController, type PersistenceRegime } from '@agentskit/core'
import { type ConnectedChat, connectChat, type Rejoin } from 'rejoin'
import { expect, onTestFinished, test, vi } from 'vitest'
import { settled } from '../stand-in/manual-adapter.ts'
import { createTestDevice } from '../sync/device.ts'

// Three tabs with one chat, in which everybody sends, edits, regenerates, retries, stops and clears at random while
// answers stream. Whatever no tab removed is there at the end, with every word that was said, and the same in all tabs.

const ACTIONS = ['send', 'send', 'edit', 'regenerate', 'retry', 'stop', 'clear', 'input'] as const
const STEPS = 80

/** Mulberry32. */
function createRandom(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** A model that says a word when it is told to, and ends after five. */
function createModel() {
  const answers = new Set<{ readonly say: () => void }>()
  let made = 0
  const adapter: AdapterFactory = {
    createSource: () => {
      const name = `A${++made}`
      let said = 0
      let wake = () => {}
      let ended = false
      const answer = {
        say: () => {
          said++
          wake()
        },
      }
      answers.add(answer)
      return {
        async *stream() {
          try {
            for (let word = 0; word < 5; word++) {
              while (said <= word && !ended) await new Promise<void>((resolve) => (wake = resolve))
              if (ended) return
              yield { type: 'text' as const, content: `${name}.${word} ` }
            }
            yield { type: 'done' as const }
          } finally {
            answers.delete(answer)
          }
        },
        abort: () => {
          ended = true
          answers.delete(answer)
          wake()
        },
      }
    },
  }
  return { adapter, answers }
}

const shown = ({ controller }: ConnectedChat) =>
  controller.getState().messages.map(({ id, role, status, content }) => `${id} ${role} ${status}: ${content}`)

async function play(seed: number, regime: PersistenceRegime) {
  const random = createRandom(seed)
  const device = createTestDevice(`fuzz-${regime}-${seed}`, undefined)
  onTestFinished(() => device.close())
  const { adapter, answers } = createModel()
  const said = new Map<string, string>()
  const removed = new Set<string>()
  const tabs: { readonly chat: ConnectedChat; readonly rejoin: Rejoin }[] = []
  for (let at = 0; at < 3; at++) {
    const rejoin = await device.open()
    const chat: ConnectedChat = await connectChat({
      rejoin,
      sessionId: 'chat',
      createController: (config) => createChatController({ ...config, regime }),
      definition: { id: 'chat', chat: { adapter } },
    })
    chat.controller.subscribe(() => {
      for (const { id, role, content } of chat.controller.getState().messages) {
        if (role === 'assistant' && content.length >= (said.get(id) ?? '').length) said.set(id, content)
      }
    })
    tabs.push({ chat, rejoin })
  }
  const pending: Promise<unknown>[] = []
  const forget = () => {
    for (const { chat, rejoin } of tabs) {
      for (const { id } of chat.controller.getState().messages) removed.add(id)
      for (const { id } of rejoin.messages('chat').get()) removed.add(id)
    }
  }

  function act(step: number): void {
    const controller = tabs[random(3)]?.chat.controller
    if (!controller) return
    const action = ACTIONS[random(ACTIONS.length)]
    const before = controller.getState().messages
    const questions = before.filter(({ role }) => role === 'user')
    const chosen = questions[random(Math.max(questions.length, 1))]
    if (action === 'send') pending.push(controller.send(`U${step}`))
    if (action === 'edit' && chosen) pending.push(controller.edit(chosen.id, `E${step}`))
    if (action === 'regenerate') pending.push(controller.regenerate())
    if (action === 'retry') pending.push(controller.retry())
    if (action === 'stop') controller.stop()
    if (action === 'input') controller.setInput(`I${step}`)
    if (action === 'clear' && random(4) === 0) {
      forget()
      pending.push(controller.clear().then(forget))
    }
    const after = new Set(controller.getState().messages.map(({ id }) => id))
    for (const { id } of before) if (!after.has(id)) removed.add(id)
  }

  for (let step = 0; step < STEPS; step++) {
    if (random(3) === 0) act(step)
    else [...answers][random(Math.max(answers.size, 1))]?.say()
    if (random(2) === 0) await settled()
  }
  while (answers.size > 0) {
    for (const { say } of [...answers]) say()
    await settled()
  }
  await Promise.all(pending)
  const stored = () =>
    (tabs[0]?.rejoin.messages('chat').get() ?? []).map(
      ({ id, role, status, content }) => `${id} ${role} ${status}: ${content}`,
    )
  await vi.waitFor(() => {
    for (const { chat } of tabs) expect(shown(chat)).toEqual(stored())
    expect(stored().filter((message) => message.includes(' streaming: '))).toEqual([])
  })
  const texts = new Map(tabs[0]?.chat.controller.getState().messages.map(({ id, content }) => [id, content]))
  const lost = [...said].filter(([id, text]) => !removed.has(id) && texts.get(id) !== text)
  expect(lost).toEqual([])
}

for (const regime of ['every-change', 'finalized'] as const) {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`S1 H5 H12 what no tab removed is kept to the last word, and all tabs agree (${regime}, seed ${seed})`, () =>
      play(seed, regime))
  }
}
