import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ERROR_CODES } from '../src/errors.ts'
import { CLOSE_CODES } from '../src/protocol/close-codes.ts'
import { PROBLEM_CODES } from '../src/protocol/problem.ts'
import { PROBLEMS } from '../sync-server/src/problems.ts'

const adrs = readdirSync('adr').filter((file) => /^\d{4}-.+\.md$/.test(file))
const pages = [
  'README.md',
  'CHANGELOG.md',
  'demo/README.md',
  'sync-server/README.md',
  ...inFolder('docs'),
  ...inFolder('adr'),
]

function inFolder(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${folder}/${file}`)
}

function read(file: string): string {
  return readFileSync(file, 'utf8')
}

/** The first column of the table whose heading row begins with `heading`, without backquotes. */
function firstColumn(page: string, heading: string): string[] {
  const lines = read(page).split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`))
  if (start < 0) throw new Error(`${page} has no table with the heading ${heading}`)
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end < 0 ? undefined : end).map((line) => (line.split('|')[1] ?? '').trim().replaceAll('`', ''))
}

/** The fields of an interface of `src/core/device-session.ts`. */
function fieldsOf(name: string): string[] {
  const file = 'src/core/device-session.ts'
  const tree = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest)
  const found = tree.statements.find((it) => ts.isInterfaceDeclaration(it) && it.name.text === name)
  if (!found || !ts.isInterfaceDeclaration(found)) throw new Error(`${file} has no interface ${name}`)
  return found.members.map((it) => (it.name && ts.isIdentifier(it.name) ? it.name.text : ''))
}

test('every error code has its row in docs/errors.md, and no other has', () => {
  expect(firstColumn('docs/errors.md', 'code')).toEqual([...ERROR_CODES])
})

test('every problem code has its row in docs/protocol.md, and no other has', () => {
  expect(firstColumn('docs/protocol.md', 'code')).toEqual([...PROBLEM_CODES])
})

test('docs/protocol.md says how each refusal travels', () => {
  const rows = [...read('docs/protocol.md').matchAll(/^\| `([a-z-]+)` \| (\d{3})(, yes)? \|/gm)]
  const documented = rows.map(([, code, status, retryable]) => [
    code,
    { status: Number(status), retryable: !!retryable },
  ])
  expect(Object.fromEntries(documented)).toEqual(PROBLEMS)
})

test('every close code has its row in docs/protocol.md, and no other has', () => {
  const codes = Object.values(CLOSE_CODES).map(String)
  expect(firstColumn('docs/protocol.md', 'close code').sort()).toEqual(codes.sort())
})

test('every field on disk has its row in docs/storage.md, and no other has', () => {
  const page = read('docs/storage.md')
  const section = (title: string) => page.split(`\n## \`${title}\``)[1]?.split('\n## ')[0] ?? ''
  const documented = (title: string) => [...section(title).matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1])
  expect(documented('sessions')).toEqual(fieldsOf('SessionRow'))
  expect(documented('updates')).toEqual(fieldsOf('UpdateRow'))
  expect(documented('outbox')).toEqual(fieldsOf('ClaimRow'))
  expect(documented('meta')).toEqual(fieldsOf('MetaRow'))
})

test('every decision has the same headings and stands in the index', () => {
  const index = read('adr/README.md')
  const headings = ['Status', 'Date', 'Context', 'Decision', 'Alternatives considered', 'Consequences']
  for (const file of adrs) {
    const text = read(`adr/${file}`)
    const title = /^# (\d{4}): (.+)$/m.exec(text)
    expect(file.startsWith(`${title?.[1]}-`), file).toBe(true)
    expect(
      [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]),
      file,
    ).toEqual(headings)
    expect(index).toContain(`| [${title?.[1]}](${file}) | ${title?.[2]} |`)
  }
})

test('a link inside the documentation leads somewhere', () => {
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .map((match) => match[1] ?? '')
      .filter((target) => !existsSync(path.join(path.dirname(page), target)))
      .map((target) => `${page} → ${target}`),
  )
  expect(dead).toEqual([])
})

test('an npm script that the documentation names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const unknown = pages.flatMap((page) =>
    [...read(page).matchAll(/npm run ([\w:]+)/g)]
      .map((match) => match[1] ?? '')
      .filter((name) => !(name in scripts))
      .map((name) => `${page}: ${name}`),
  )
  expect(unknown).toEqual([])
})

test('the examples in the documentation compile against the source', { timeout: 60_000 }, () => {
  const snippets = new Map(pages.flatMap(snippetsOf))
  expect(snippets.size).toBeGreaterThan(0)
  expect(typeErrors(snippets)).toEqual([])
})

/**
 * The `ts` and `tsx` blocks of a page as files of their own. A comment `<!-- given: … -->` right before a block is put
 * in front of it: what the reader's app has and the page does not show.
 */
function snippetsOf(page: string): [string, string][] {
  const blocks = read(page).matchAll(/(?:<!-- given:(.*?)-->\n+)?```(tsx?)\n(.*?)```/gs)
  return [...blocks].map(([, given = '', kind, code = ''], at) => {
    const file = path.resolve(`${page.replaceAll('/', '-')}-${at + 1}.${kind}`)
    return [file, `${given.trim()}\n${code}\nexport {}\n`]
  })
}

function typeErrors(snippets: ReadonlyMap<string, string>): string[] {
  const config = ts.readConfigFile('tsconfig.json', (file) => readFileSync(file, 'utf8'))
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, process.cwd())
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => snippets.has(file) || fileExists(file)
  host.readFile = (file) => snippets.get(file) ?? readFile(file)
  host.getSourceFile = (file, languageVersion, ...rest) => {
    const text = snippets.get(file)
    return text === undefined
      ? getSourceFile(file, languageVersion, ...rest)
      : ts.createSourceFile(file, text, languageVersion)
  }
  const program = ts.createProgram([...snippets.keys()], options, host)
  return [...snippets.keys()].flatMap((file) => {
    const source = program.getSourceFile(file)
    return ts.getPreEmitDiagnostics(program, source).map((it) => {
      const line = source && it.start !== undefined ? source.getLineAndCharacterOfPosition(it.start).line + 1 : 0
      return `${path.basename(file)}:${line} ${ts.flattenDiagnosticMessageText(it.messageText, ' ')}`
    })
  })
}
