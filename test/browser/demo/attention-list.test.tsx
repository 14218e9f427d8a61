import { cleanup, render, screen, waitFor } from '@testing-library/react'
import { type AttentionItem, type Rejoin, RejoinError } from 'rejoin'
import { afterEach, expect, test } from 'vitest'
import { AttentionList } from '../../../demo/src/attention-list.tsx'

afterEach(cleanup)

/** A list of one claim, and what was said of it. */
function shown(state: 'won' | 'running' | 'attention', refuse = false) {
  const item: AttentionItem = {
    kind: 'claim',
    sessionId: 'desk',
    token: 't',
    toolCallId: 'call',
    claimId: 'claim',
    want: 'approving',
    state,
    since: 0,
    deviceAt: 0,
  }
  const items = [item]
  const said: string[] = []
  const say = (what: string) => async () => {
    said.push(what)
    if (refuse) throw new RejoinError('refused', 'Another page is at work on it.', { hint: 'Close it first.' })
  }
  const attention = { get: () => items, subscribe: () => () => {}, settle: say('ran'), release: say('did not run') }
  const opened: string[] = []
  render(
    <AttentionList
      rejoin={{ attention } as unknown as Rejoin}
      deviceLabel="Laptop"
      onOpen={(sessionId) => opened.push(sessionId)}
    />,
  )
  return { said, opened }
}

test.each([
  ['It ran', 'ran'],
  ['It did not run', 'did not run'],
])('G2 of an action that runs for long a person may say “%s”', async (text, expected) => {
  const { said } = shown('running')
  screen.getByRole('button', { name: text }).click()
  await waitFor(() => expect(said).toEqual([expected]))
})

test('G2 a decision that nobody carried out can be taken back, and nobody is asked whether it ran', async () => {
  const { said } = shown('won')
  expect(screen.queryByRole('button', { name: 'It ran' })).toBeNull()
  screen.getByRole('button', { name: 'Take it back' }).click()
  await waitFor(() => expect(said).toEqual(['did not run']))
})

test('G9 what was refused is said with what to do about it', async () => {
  shown('running', true)
  screen.getByRole('button', { name: 'It did not run' }).click()
  expect((await screen.findByRole('alert')).textContent).toBe('Another page is at work on it. Close it first.')
})

test('the chat of an entry opens from the list', () => {
  const { opened } = shown('attention')
  screen.getByRole('button', { name: 'desk' }).click()
  expect(opened).toEqual(['desk'])
})
