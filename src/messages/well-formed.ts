import { extendsText } from '../core/text-edit.ts'

/** With the `u` flag a surrogate matches only when it has no other half. */
const LONE_SURROGATE = /\p{Surrogate}/gu

/**
 * The text as it may enter a document. A high surrogate at the end is held back: the rest of its character is still to
 * come, and half of it would turn into a replacement character for every other reader. Halves elsewhere never find
 * their other one and are replaced at once, so that all readers see the same.
 *
 * `known` is what this gave for an earlier state of the same text; only what was appended to it is looked at.
 */
export function wellFormed(text: string, known = ''): string {
  if (text === known) return text
  const start = extendsText(text, known) ? known.length : 0
  const rest = start > 0 ? text.slice(start) : text
  const last = rest.charCodeAt(rest.length - 1)
  const whole = (last >= 0xd800 && last <= 0xdbff ? rest.slice(0, -1) : rest).replace(LONE_SURROGATE, '\ufffd')
  return whole === rest ? text : text.slice(0, start) + whole
}
