import { expect, test } from 'vitest'
import { sizeLine } from '../../../scripts/package-sizes.mjs'

const limits = { entry: 'rejoin', maxBytes: 60_000, goalBytes: 16_000 }

test('a size says by itself that it is all right, and what is left', () => {
  expect(sizeLine({ ...limits, bytes: 59_980 })).toBe(
    'size of rejoin: 59.98 kB (ok, 0.02 kB below the limit of 60.00 kB, the goal is 16.00 kB)',
  )
})

test('a size over its limit says so, also by a few bytes', () => {
  expect(sizeLine({ ...limits, bytes: 60_020, goalBytes: 60_000 })).toBe(
    'size of rejoin: 60.02 kB (too large, 0.02 kB over the limit of 60.00 kB)',
  )
})
