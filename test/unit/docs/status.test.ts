import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

const page = readFileSync('docs/status.md', 'utf8')
const SOURCE = 'src/sync/status.ts'
const source = ts.createSourceFile(SOURCE, readFileSync(SOURCE, 'utf8'), ts.ScriptTarget.Latest)

function firstColumn(heading: string): string[] {
  const table = page.split(`| ${heading} |`)[1]?.split('\n\n')[0] ?? ''
  return [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = '']) => name)
}

test('G9 every state of the status has its row in docs/status.md, and no other has', () => {
  const union = source.statements.find((it) => ts.isTypeAliasDeclaration(it) && it.name.text === 'SyncState')
  const states = [...(union?.getText(source).matchAll(/'([\w-]+)'/g) ?? [])].map(([, state]) => state)
  expect(states.length).toBeGreaterThan(0)
  expect(firstColumn('state').sort()).toEqual(states.sort())
})

test('G9 every field of the status has its row in docs/status.md, and no other has', () => {
  const status = source.statements.find((it) => ts.isInterfaceDeclaration(it) && it.name.text === 'RejoinStatus')
  if (!status || !ts.isInterfaceDeclaration(status)) throw new Error(`${SOURCE} has no RejoinStatus`)
  const fields = status.members.map((it) => it.name?.getText(source))
  expect(firstColumn('field').sort()).toEqual(fields.sort())
})
