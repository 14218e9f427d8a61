import { act, cleanup, render, screen } from '@testing-library/react'
import { StrictMode } from 'react'
import type { Message } from 'rejoin'
import { useConfirmations, useMessages, useRejoinStatus, useSessions } from 'rejoin/react'
import { afterEach, expect, test } from 'vitest'

afterEach(cleanup)

function observable<T>(first: T) {
  let value = first
  const listeners = new Set<() => void>()
  return {
    listeners,
    get: () => value,
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    set: (next: T) => {
      value = next
      for (const listener of listeners) listener()
    },
  }
}

type Source<T> = ReturnType<typeof observable<T>>

function Status({ status }: { readonly status: Source<string> }) {
  return <p>{useRejoinStatus({ status })}</p>
}

function Sessions({ rejoin }: { readonly rejoin: { readonly sessions: Source<string> } }) {
  return <p>{useSessions(rejoin)}</p>
}

function Messages({ rejoin, id }: { readonly rejoin: Parameters<typeof useMessages>[0]; readonly id: string }) {
  return <p>{useMessages(rejoin, id).map((each) => each.content)}</p>
}

function Confirmations({ session }: { readonly session: Parameters<typeof useConfirmations<readonly string[]>>[0] }) {
  return <p>{useConfirmations(session).join(' ') || 'none'}</p>
}

test('a hook shows each change, and stops listening with its component', () => {
  const status = observable('offline')
  const { unmount } = render(
    <StrictMode>
      <Status status={status} />
    </StrictMode>,
  )
  expect(screen.getByText('offline')).toBeDefined()
  act(() => status.set('synced'))
  expect(screen.getByText('synced')).toBeDefined()
  unmount()
  expect(status.listeners.size).toBe(0)
})

test('a hook follows another Rejoin when it gets one', () => {
  const first = { sessions: observable('one') }
  const { rerender } = render(<Sessions rejoin={first} />)
  rerender(<Sessions rejoin={{ sessions: observable('two') }} />)
  expect(screen.getByText('two')).toBeDefined()
  expect(first.sessions.listeners.size).toBe(0)
})

test('useMessages loads the messages of the session that it is asked for, and lives with a load that fails', () => {
  const loaded: string[] = []
  const message: Message = { id: 'm', role: 'user', content: '', status: 'complete', createdAt: new Date(0) }
  const rejoin = {
    messages: (sessionId: string) => ({
      ...observable<readonly Message[]>([{ ...message, content: sessionId }]),
      whenLoaded: () => {
        loaded.push(sessionId)
        return sessionId === 'broken' ? Promise.reject(new Error('blocked')) : Promise.resolve()
      },
      whenStored: async () => {},
      toolCall: () => undefined,
      problem: () => undefined,
    }),
  }
  const { rerender } = render(<Messages rejoin={rejoin} id="desk" />)
  expect(screen.getByText('desk')).toBeDefined()
  rerender(<Messages rejoin={rejoin} id="broken" />)
  expect(screen.getByText('broken')).toBeDefined()
  expect(loaded).toEqual(['desk', 'broken'])
})

test('useConfirmations shows the list of a session', () => {
  const list = observable<readonly string[]>([])
  render(<Confirmations session={{ getConfirmations: list.get, subscribe: list.subscribe }} />)
  expect(screen.getByText('none')).toBeDefined()
  act(() => list.set(['refund']))
  expect(screen.getByText('refund')).toBeDefined()
})
