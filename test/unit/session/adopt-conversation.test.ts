import { expect, test } from 'vitest'
import type { Conversation, Decision } from '../../../src/contract/session-snapshot.ts'
import { adoptConversation } from '../../../src/session/adopt-conversation.ts'
import type { Progress } from '../../../src/session/dispatch-turn.ts'
import { decision } from '../contract/snapshots.ts'

function steps(...ids: string[]): Decision[] {
  return ids.map((id, index) => decision({ messageId: id, fromState: `s${index}`, toState: `s${index + 1}` }))
}

function conversation(...ids: string[]): Conversation {
  return { state: `s${ids.length}`, decisions: steps(...ids) }
}

function ours(...ids: string[]): Progress {
  return { ...conversation(...ids), aside: [] }
}

function adopt(progress: Progress, base: Conversation | undefined, stored: Conversation | undefined) {
  const { state, decisions, aside } = adoptConversation({ initial: 's0', ours: progress, base, stored })
  const ids = (list: readonly Decision[]) => list.map(({ messageId }) => messageId).join()
  return `${state} ${ids(decisions)}${aside.length > 0 ? ` aside ${ids(aside)}` : ''}`
}

test.each([
  ['nothing changed', ours('a'), conversation('a'), conversation('a'), 's1 a'],
  ['both did the same', ours('a', 'b'), conversation('a'), conversation('a', 'b'), 's2 a,b'],
  ['only we went on', ours('a', 'b'), conversation('a'), conversation('a'), 's2 a,b'],
  ['only we went back', ours(), conversation('a'), conversation('a'), 's0 '],
  ['only they went on', ours('a'), conversation('a'), conversation('a', 'b'), 's2 a,b'],
  ['only they went back', ours('a', 'b'), conversation('a', 'b'), conversation('a'), 's1 a'],
  ['both went on, we further', ours('a', 'b', 'c'), conversation('a'), conversation('a', 'b'), 's3 a,b,c'],
  ['both went on, they further', ours('a', 'b'), conversation('a'), conversation('a', 'b', 'c'), 's3 a,b,c'],
  ['both went different ways', ours('a', 'x'), conversation('a'), conversation('a', 'b'), 's2 a,b aside x'],
  ['nothing was known', ours('a'), undefined, conversation('b'), 's1 b aside a'],
  ['nothing was known and we did nothing', ours(), undefined, conversation('b'), 's1 b'],
  ['a snapshot without a conversation', ours('a'), conversation('a'), undefined, 's0 '],
] as const)('F19 %s', (_, progress, base, stored, result) => {
  expect(adopt(progress, base, stored)).toBe(result)
})

test('F19 what was aside stays there, except what is stored now', () => {
  const progress: Progress = { ...ours('a'), aside: steps('b', 'x') }
  expect(adopt(progress, conversation('a'), conversation('a', 'b'))).toBe('s2 a,b aside x')
})
