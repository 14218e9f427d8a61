/** What a writer did to a text: it knew `from` and saved `to`. */
export interface TextEdit {
  readonly from: string
  readonly to: string
}

/** `remove` UTF-16 code units at `index` give way to `insert`. */
export interface TextSplice {
  readonly index: number
  readonly remove: number
  readonly insert: string
}

/**
 * The smallest splice that turns `from` into `to`; undefined when they are equal. Both must be well-formed; the splice
 * never starts or ends inside a surrogate pair. What is appended costs its own length, not the text's: texts stream.
 */
export function spliceBetween(from: string, to: string): TextSplice | undefined {
  if (from === to) return undefined
  if (extendsText(to, from)) return { index: from.length, remove: 0, insert: to.slice(from.length) }
  const shorter = Math.min(from.length, to.length)
  let start = 0
  while (start < shorter && from.charCodeAt(start) === to.charCodeAt(start)) start++
  if (start > 0 && isHighSurrogate(from.charCodeAt(start - 1))) start--
  let end = 0
  while (end < shorter - start && from.charCodeAt(from.length - 1 - end) === to.charCodeAt(to.length - 1 - end)) end++
  if (end > 0 && isLowSurrogate(from.charCodeAt(from.length - end))) end--
  return { index: start, remove: from.length - start - end, insert: to.slice(start, to.length - end) }
}

/**
 * The edit as a splice of `current`, the text as it is now, which others may have changed since the writer saw it.
 *
 * - What is there already is not written again: a writer may lag behind its own words.
 * - Edits of different places are both kept; of the same place, the writer's text wins.
 */
export function spliceOnto(current: string, { from, to }: TextEdit): TextSplice | undefined {
  if (from === to || current === to) return undefined
  if (current === from) return spliceBetween(from, to)
  if (extendsText(to, from) && extendsText(current, from)) {
    if (extendsText(current, to)) return undefined
    if (extendsText(to, current)) return spliceBetween(current, to)
    return { index: current.length, remove: 0, insert: to.slice(from.length) }
  }
  const ours = spliceBetween(from, to)
  const theirs = spliceBetween(from, current)
  if (!ours || !theirs) return ours
  if (ours.index + ours.remove <= theirs.index) return ours
  if (ours.index >= theirs.index + theirs.remove) {
    return { ...ours, index: ours.index + theirs.insert.length - theirs.remove }
  }
  return spliceBetween(current, to)
}

/** True if `text` begins with `start`. Comparing a slice is several times faster than `startsWith`, on every token. */
export function extendsText(text: string, start: string): boolean {
  return text.length >= start.length && text.slice(0, start.length) === start
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
