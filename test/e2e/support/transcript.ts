import type { ShownMessage, View } from '../harness/harness.ts'

/** Who said what, one line a message. */
export function transcript(messages: readonly ShownMessage[]): readonly string[] {
  return messages.map(({ role, content }) => `${role}: ${content}`)
}

/** What people said, in the order that is shown. */
export function questions({ chat }: Pick<View, 'chat'>): readonly string[] {
  return chat.filter(({ role }) => role === 'user').map(({ content }) => content)
}
