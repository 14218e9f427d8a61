import { type ChatController, createChatController } from '@agentskit/core'
import { InputBar, Message, ToolConfirmation } from '@agentskit/react'
import { act, cleanup, fireEvent, render, renderHook, screen, waitFor, within } from '@testing-library/react'
import { StrictMode } from 'react'
import { defineChat, openRejoin, type Rejoin } from 'rejoin'
import { useOfflineChat } from 'rejoin/agentskit'
import { afterEach, expect, onTestFinished, test } from 'vitest'

afterEach(cleanup)

async function openTab(realm: string): Promise<Rejoin> {
  const rejoin = await openRejoin({ account: 'use-offline-chat', realm })
  onTestFinished(() => rejoin.close())
  return rejoin
}

/** A desk that calls for a refund when it is asked for one, and counts what it refunds. */
function desk() {
  const ran: unknown[] = []
  const refund = ({ order }: Record<string, unknown>) => `${ran.push(order)} refunded`
  const definition = defineChat({
    id: 'desk',
    chat: {
      tools: [{ name: 'refund', requiresConfirmation: true, execute: refund }],
      adapter: {
        createSource: ({ messages }) => ({
          async *stream() {
            const last = messages.findLast(({ role }) => role !== 'assistant')
            if (last?.content === 'refund') {
              const toolCall = { id: 'call-1', name: 'refund', args: '{"order":"A"}' }
              yield { type: 'tool_call', toolCall } as const
            } else yield { type: 'text', content: `You said ${last?.content}` } as const
            yield { type: 'done' } as const
          },
          abort: () => {},
        }),
      },
    },
  })
  return { ran, definition }
}

interface SupportProps {
  readonly rejoin: Rejoin
  readonly sessionId: string
  readonly definition: ReturnType<typeof desk>['definition']
  readonly seen?: string[]
}

function Support({ rejoin, sessionId, definition, seen }: SupportProps) {
  const open = useOfflineChat({ rejoin, sessionId, definition, createController: createChatController })
  if (open.state === 'failed')
    return (
      <button type="button" onClick={open.retry}>
        {String(open.problem)}
      </button>
    )
  if (open.state !== 'open') return <p>Opening</p>
  const { messages, approve, deny } = open.chat
  seen?.push(`${open.connected.session.sessionId} for ${sessionId}`)
  return (
    <section>
      {messages.map((message) => (
        <Message key={message.id} message={message} />
      ))}
      {messages
        .flatMap(({ toolCalls = [] }) => toolCalls)
        .map((call) => (
          <ToolConfirmation key={call.id} toolCall={call} onApprove={approve} onDeny={deny} />
        ))}
      <output>{open.confirmations.map(({ status }) => status).join()}</output>
      <p role="alert">{open.problem === undefined ? '' : String(open.problem)}</p>
      <InputBar chat={open.chat} />
    </section>
  )
}

async function say(tab: HTMLElement, text: string): Promise<void> {
  const input = await within(tab).findByRole('textbox')
  fireEvent.change(input, { target: { value: text } })
  await within(tab).findByDisplayValue(text)
  fireEvent.click(within(tab).getByText('Send'))
}

test('G1 H1 two tabs of one session, each in strict mode: each follows the other, and a refund runs once', async () => {
  const realm = crypto.randomUUID()
  const { ran, definition } = desk()
  const [one, two] = [await openTab(realm), await openTab(realm)]
  const a = render(<Support rejoin={one} sessionId="s1" definition={definition} />, { wrapper: StrictMode }).container
  const b = render(<Support rejoin={two} sessionId="s1" definition={definition} />, { wrapper: StrictMode }).container
  await say(a, 'hello')
  await within(b).findByText('You said hello')
  await say(b, 'refund')
  const approve = await within(a).findByText('Approve')
  fireEvent.click(approve)
  fireEvent.click(approve)
  await within(a).findByText('approved')
  await within(b).findByText('approved')
  expect(ran).toEqual(['A'])
  await within(b).findByText('You said 1 refunded')
  expect(within(b).queryByText('Approve')).toBeNull()
  for (const alert of screen.getAllByRole('alert')) expect(alert.textContent).toBe('')
})

test('H7 a chat of another session is never shown under the new one', async () => {
  const rejoin = await openTab(crypto.randomUUID())
  const { definition } = desk()
  const seen: string[] = []
  const { container, rerender } = render(<Support rejoin={rejoin} sessionId="s1" definition={definition} seen={seen} />)
  await say(container, 'hello')
  await screen.findByText('You said hello')
  rerender(<Support rejoin={rejoin} sessionId="s2" definition={definition} seen={seen} />)
  await screen.findByRole('textbox')
  expect(screen.queryByText('You said hello')).toBeNull()
  rerender(<Support rejoin={rejoin} sessionId="s1" definition={definition} seen={seen} />)
  await screen.findByText('You said hello')
  expect(new Set(seen)).toEqual(new Set(['s1 for s1', 's2 for s2']))
})

test('a chat that cannot be opened says why, and opens when it is tried again', async () => {
  const rejoin = await openTab(crypto.randomUUID())
  const { definition } = desk()
  const store = rejoin.storage
  let broken = true
  const failing = {
    ...rejoin,
    storage: { ...store, load: (id: string) => (broken ? Promise.reject(new Error('No disk')) : store.load(id)) },
  }
  render(<Support rejoin={failing} sessionId="s1" definition={definition} />)
  const retry = await screen.findByText('Error: No disk')
  broken = false
  fireEvent.click(retry)
  await screen.findByRole('textbox')
})

test('a decision that finds nothing to run shows in `problem`, and does not reject', async () => {
  const rejoin = await openTab(crypto.randomUUID())
  const { definition } = desk()
  const { result } = renderHook(() =>
    useOfflineChat({ rejoin, sessionId: 's1', definition, createController: createChatController }),
  )
  const open = () => (result.current.state === 'open' ? result.current : undefined)
  await waitFor(() => expect(open()).toBeDefined())
  await act(async () => open()?.chat.approve('call-9'))
  expect(open()?.problem).toMatchObject({ code: 'nothing-to-run' })
  act(() => open()?.dismissProblem())
  expect(open()).toMatchObject({ problem: undefined })
})

test('H7 a decision that ends after another session was opened shows no problem there', async () => {
  const rejoin = await openTab(crypto.randomUUID())
  const { definition } = desk()
  const { result, rerender } = renderHook(
    ({ sessionId }) => useOfflineChat({ rejoin, sessionId, definition, createController: createChatController }),
    { initialProps: { sessionId: 's1' } },
  )
  const open = () => (result.current.state === 'open' ? result.current : undefined)
  await waitFor(() => expect(open()).toBeDefined())
  const decided = open()?.chat.approve('call-9')
  rerender({ sessionId: 's2' })
  await waitFor(() => expect(open()?.connected.session.sessionId).toBe('s2'))
  await act(async () => decided)
  expect(open()).toMatchObject({ problem: undefined })
})

test('a controller of a class keeps its methods, and they keep their `this`', async () => {
  const rejoin = await openTab(crypto.randomUUID())
  const { definition } = desk()
  const { result } = renderHook(() =>
    useOfflineChat({ rejoin, sessionId: 's1', definition, createController: createClassController }),
  )
  const open = () => (result.current.state === 'open' ? result.current : undefined)
  await waitFor(() => expect(open()).toBeDefined())
  await act(async () => open()?.chat.send('hello'))
  expect(open()?.chat.messages.map(({ content }) => content)).toEqual(['hello', 'You said hello'])
  act(() => open()?.chat.setInput('draft'))
  expect(open()?.chat.input).toBe('draft')
})

/** As somebody may write it: methods on a prototype, state behind `this`. */
function createClassController(config: Parameters<typeof createChatController>[0]): ChatController {
  const inner = createChatController(config)
  class Controller {
    readonly #inner = inner
    call(name: keyof ChatController, args: unknown[]): unknown {
      return (this.#inner[name] as (...args: unknown[]) => unknown)(...args)
    }
  }
  for (const name of Object.keys(inner) as (keyof ChatController)[]) {
    Object.defineProperty(Controller.prototype, name, {
      value(this: Controller, ...args: unknown[]) {
        return this.call(name, args)
      },
    })
  }
  return new Controller() as unknown as ChatController
}
