import type { AdapterFactory, PersistenceRegime } from '@agentskit/core'
import { useChat } from '@agentskit/react'
import { act, cleanup, render, screen } from '@testing-library/react'
import { StrictMode } from 'react'
import { openRejoin, type Rejoin } from 'rejoin'
import { afterEach, expect, test } from 'vitest'

const silent: AdapterFactory = { createSource: () => ({ async *stream() {}, abort() {} }) }
const regimes: PersistenceRegime[] = ['every-change', 'finalized']
const open = new Set<Rejoin>()

afterEach(async () => {
  cleanup()
  for (const rejoin of open) await rejoin.close()
  open.clear()
})

async function openTab(realm: string): Promise<Rejoin> {
  const rejoin = await openRejoin({ account: 'acme', realm })
  open.add(rejoin)
  return rejoin
}

function Chat({ rejoin, regime }: { rejoin: Rejoin; regime: PersistenceRegime }) {
  const { messages } = useChat({ adapter: silent, memory: rejoin.memory('s1'), regime })
  return (
    <ul>
      {messages.map(({ id, content }) => (
        <li key={id}>{content}</li>
      ))}
    </ul>
  )
}

test.each(regimes)('H1 M11 a chat that StrictMode mounts twice keeps its history (%s)', async (regime) => {
  const realm = `strict-${crypto.randomUUID()}`
  const first = await openTab(realm)
  await first.memory('s1').save([
    { id: 'u1', role: 'user', content: 'hello', status: 'complete', createdAt: new Date(0) },
    { id: 'a1', role: 'assistant', content: 'hi there', status: 'complete', createdAt: new Date(1) },
  ])
  const rejoin = await openTab(realm)
  for (let mount = 0; mount < 3; mount++) {
    const chat = (
      <StrictMode>
        <Chat rejoin={rejoin} regime={regime} />
      </StrictMode>
    )
    const { unmount } = await act(async () => render(chat))
    expect((await screen.findByText('hi there')).textContent).toBe('hi there')
    await act(async () => unmount())
  }
  expect((await first.memory('s1').load()).map(({ content }) => content)).toEqual(['hello', 'hi there'])
})
