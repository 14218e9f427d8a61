import { type AdapterFactory, buildMessage, type ChatMemory, createInMemoryMemory } from '@agentskit/core'
import { useChat } from '@agentskit/react'
import { act, cleanup, render, screen } from '@testing-library/react'
import { StrictMode } from 'react'
import { afterEach, expect, test } from 'vitest'

afterEach(cleanup)

const old = [buildMessage({ role: 'user', content: 'before' })]

/** An adapter that starts an answer and never ends it. */
function openEnded() {
  const counts = { aborts: 0 }
  const adapter: AdapterFactory = {
    createSource: () => {
      let end = () => {}
      return {
        stream: async function* () {
          yield { type: 'text', content: 'part' }
          await new Promise<void>((resolve) => {
            end = resolve
          })
        },
        abort: () => {
          counts.aborts += 1
          end()
        },
      }
    },
  }
  return { adapter, counts }
}

function Chat({ adapter, memory, name = 'chat' }: { adapter: AdapterFactory; memory?: ChatMemory; name?: string }) {
  const chat = useChat({ adapter, ...(memory ? { memory } : {}) })
  return (
    <section aria-label={name}>
      <button type="button" onClick={() => void chat.send('hi')}>
        send in {name}
      </button>
      {chat.messages.map((message) => (
        <p key={message.id}>{message.content}</p>
      ))}
    </section>
  )
}

test('M11 useChat shows what its memory holds', async () => {
  render(<Chat adapter={openEnded().adapter} memory={createInMemoryMemory(old)} />)
  expect(await screen.findByText('before')).toBeDefined()
})

test('M11 leaving the page aborts a running answer exactly once', async () => {
  const { adapter, counts } = openEnded()
  const { unmount } = render(<Chat adapter={adapter} />)
  await act(async () => screen.getByText('send in chat').click())
  await screen.findByText('part')
  unmount()
  expect(counts.aborts).toBe(1)
})

test('M11 two chats on one page share nothing', async () => {
  const { adapter } = openEnded()
  render(
    <>
      <Chat adapter={adapter} name="one" />
      <Chat adapter={adapter} name="two" />
    </>,
  )
  await act(async () => screen.getByText('send in one').click())
  expect(await screen.findAllByText('part')).toHaveLength(1)
  expect(screen.getByLabelText('two').textContent).not.toContain('part')
})

test('M11 H1 under StrictMode it mounts, and the simulated unmount empties a replace-all memory', async () => {
  const memory = createInMemoryMemory(old)
  render(
    <StrictMode>
      <Chat adapter={openEnded().adapter} memory={memory} />
    </StrictMode>,
  )
  expect(await screen.findByText('before')).toBeDefined()
  expect(await memory.load()).toEqual([])
})
