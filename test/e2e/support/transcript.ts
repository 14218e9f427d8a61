import type { View } from '../harness/harness.ts'

/** What people said, in the order that is shown. */
export function questions({ chat }: Pick<View, 'chat'>): readonly string[] {
  return chat.filter(({ role }) => role === 'user').map(({ content }) => content)
}
