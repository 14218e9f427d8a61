import { expect, test } from 'vitest'
import { openStageWithoutServer } from './support/stage.ts'

const ROUNDS = 200

test(`E2E 9 · F29 F34 of two tabs that save at the same cursor exactly one succeeds, ${ROUNDS} times in a row`, async () => {
  const { openDevice } = await openStageWithoutServer()
  const laptop = await openDevice('Laptop')
  const [a, b] = [await laptop.openTab({ session: false }), await laptop.openTab({ session: false })]

  const [inA, inB] = await Promise.all([a.race('raced', ROUNDS), b.race('raced', ROUNDS)])

  expect(inA).toHaveLength(ROUNDS)
  expect(inA.map((saved, round) => Number(saved) + Number(inB[round]))).toEqual(new Array(ROUNDS).fill(1))
  expect(await a.load('raced')).toMatchObject({ cursor: ROUNDS })
})
