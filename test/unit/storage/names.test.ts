import { expect, test } from 'vitest'
import { MAX_ACCOUNT_LENGTH, MAX_REALM_LENGTH, namesOf } from '../../../src/storage/names.ts'

const all = (account: string, realm: string) => {
  const names = namesOf(account, realm)
  return [names.database, names.channel('rows'), names.lock('leader')]
}

test('G10 names are equal for equal accounts and realms, and differ for any others', () => {
  const parts = [
    'a',
    'b',
    'a/b',
    'a%002fb',
    '%',
    '',
    'é',
    'e\u0301',
    '\ud800',
    '\udfff',
    '\ufffd',
    'A',
    'a ',
    '名',
  ].filter(Boolean)
  const seen = new Map<string, string>()
  for (const account of parts) {
    for (const realm of parts) {
      expect(all(account, realm)).toEqual(all(account, realm))
      for (const name of new Set(all(account, realm))) {
        expect(seen.get(name)).toBeUndefined()
        seen.set(name, `${account}|${realm}`)
        expect(name).toMatch(/^rejoin\/[!-~]+$/)
      }
    }
  }
})

test('G10 a purpose cannot reach into another account’s names', () => {
  const names = new Set([
    namesOf('a', 'b').lock('c/d'),
    namesOf('a', 'b/c').lock('d'),
    namesOf('a', 'b').lock('c'),
    namesOf('a', 'b').lock('c:d'),
    namesOf('a/b', 'c').lock('d'),
  ])
  expect(names.size).toBe(5)
})

test('an account or realm that is empty, too long or no string is refused with a hint', () => {
  const refusal = expect.objectContaining({ name: 'RejoinError', code: 'refused', hint: expect.any(String) })
  for (const [account, realm] of [
    ['', 'r'],
    ['a', ''],
    ['a'.repeat(MAX_ACCOUNT_LENGTH + 1), 'r'],
    ['a', 'r'.repeat(MAX_REALM_LENGTH + 1)],
    [undefined, 'r'],
  ]) {
    expect(() => namesOf(account as string, realm as string)).toThrow(refusal)
  }
  expect(() => namesOf('a'.repeat(MAX_ACCOUNT_LENGTH), 'r'.repeat(MAX_REALM_LENGTH))).not.toThrow()
})
