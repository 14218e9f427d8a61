import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Conversation, Decision } from '../../../src/contract/session-snapshot.ts'
import {
  chains,
  cutConversation,
  initialState,
  isPrefix,
  isSameDecision,
} from '../../../src/core/conversation-chain.ts'
import { decision, talk } from './sessions.ts'

/** A conversation that chains from `idle` through arbitrary states. */
const conversations: fc.Arbitrary<Conversation> = fc
  .array(fc.constantFrom('idle', 'active', 'done'), { maxLength: 8 })
  .map((states) => {
    const decisions: Decision[] = states.map((toState, index) =>
      decision({ messageId: `m${index}`, fromState: states[index - 1] ?? 'idle', toState }),
    )
    return { state: states.at(-1) ?? 'idle', decisions }
  })

test('R9 decisions chain when each begins where the one before ended, and the last ends in the state', () => {
  expect(chains('idle', talk('m1', 'm2', 'm3'))).toBe(true)
  expect(chains('idle', talk())).toBe(true)
  expect(chains('other', talk('m1'))).toBe(false)
  expect(chains('idle', { ...talk('m1', 'm2'), state: 's1' })).toBe(false)
  expect(chains('idle', { state: 's2', decisions: talk('m1', 'm2').decisions.slice(1) })).toBe(false)
})

test('R9 a conversation implies its initial state', () => {
  expect(initialState(talk('m1', 'm2'))).toBe('idle')
  expect(initialState({ state: 'active', decisions: [] })).toBe('active')
})

test('R8 G6 a conversation is cut at the first missing message, chains again, and nothing is dropped unsaid', () => {
  fc.assert(
    fc.property(conversations, fc.func(fc.boolean()), (conversation, has) => {
      const { conversation: kept, cut } = cutConversation(conversation, 'idle', has)
      expect(chains('idle', kept)).toBe(true)
      expect([...kept.decisions, ...cut]).toEqual(conversation.decisions)
      expect(kept.decisions.every(({ messageId }) => has(messageId))).toBe(true)
      if (cut[0]) expect(has(cut[0].messageId)).toBe(false)
    }),
  )
})

test('R8 a complete conversation is not cut', () => {
  const conversation = talk('m1', 'm2')
  expect(cutConversation(conversation, 'idle', () => true)).toEqual({ conversation, cut: [] })
})

test('a conversation is a prefix of itself and of what continues it, and of nothing else', () => {
  const { decisions } = talk('m1', 'm2', 'm3')
  expect(isPrefix(decisions, decisions)).toBe(true)
  expect(isPrefix(decisions.slice(0, 2), decisions)).toBe(true)
  expect(isPrefix([], decisions)).toBe(true)
  expect(isPrefix(decisions, decisions.slice(0, 2))).toBe(false)
  expect(isPrefix(talk('m1', 'other').decisions, decisions)).toBe(false)
})

test.each([
  ['message', { messageId: 'other' }],
  ['input', { input: 'other' }],
  ['route', { routeId: 'other' }],
  ['target', { toState: 'other' }],
])('a decision with another %s is another decision', (_, change) => {
  expect(isSameDecision(decision(), decision(change))).toBe(false)
})

test('an answer in other words is the same decision', () => {
  expect(isSameDecision(decision(), decision({ content: 'Off we go' }))).toBe(true)
})
