/** Sorted, disjoint, half-open ranges of whole numbers: start, end, start, end, … */
export type RangeSet = number[]

/** True if all of `[start, end)` is in the set. */
export function covers(set: RangeSet, start: number, end: number): boolean {
  const at = firstEndingAfter(set, start)
  const from = set[at]
  const to = set[at + 1]
  return from !== undefined && to !== undefined && from <= start && end <= to
}

/** Adds `[start, end)` in place; ranges that touch become one. */
export function addRange(set: RangeSet, start: number, end: number): void {
  const at = firstEndingAfter(set, start - 1)
  let from = start
  let to = end
  let after = at
  for (let next = set[after]; next !== undefined && next <= end; next = set[after]) {
    from = Math.min(from, next)
    to = Math.max(to, set[after + 1] ?? to)
    after += 2
  }
  set.splice(at, after - at, from, to)
}

/** The index of the first range whose end lies behind `value`. */
function firstEndingAfter(set: RangeSet, value: number): number {
  let low = 0
  let high = set.length / 2
  while (low < high) {
    const middle = (low + high) >> 1
    if ((set[middle * 2 + 1] ?? 0) > value) high = middle
    else low = middle + 1
  }
  return low * 2
}
