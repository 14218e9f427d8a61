import { expect, test } from 'vitest'
import { readSource, readSources, type Source } from './architecture/read-sources.ts'

// The layout of the house as rules. A rule is a function that names what breaks it, so that each can also be shown to
// fail on a file that breaks it.

const sources = readSources(['src', 'sync-server/src', 'demo', 'stand-in', 'test', 'bench'])
const within = (...folders: string[]) =>
  sources.filter((it) => folders.some((folder) => it.path.startsWith(`${folder}/`)))

/** What a folder of `src` may import beside itself and `src/errors.ts`. Folders that are not named may import all. */
const LAYERS: Record<string, readonly string[]> = {
  contract: [],
  protocol: ['contract'],
  core: ['contract', 'protocol'],
  session: ['contract', 'core'],
  chat: ['contract', 'core', 'session', 'messages'],
  storage: ['contract', 'protocol', 'core'],
  messages: ['contract', 'protocol', 'core'],
  sync: ['contract', 'protocol', 'core', 'storage', 'messages'],
}

/** Files that may import one file beyond their layer, and why. */
const PORTS: Record<string, string> = {
  'src/storage/database.ts': 'the port of the database: types only, what messages persist through',
}

/** Which packages a place may import; whoever is not named may not. */
const PACKAGES: Record<string, readonly string[]> = {
  idb: ['src/storage/'],
  yjs: ['src/messages/', 'src/sync/live-socket.ts', 'src/testing/', 'sync-server/src/'],
  'y-websocket': ['src/sync/live-socket.ts'],
  'y-protocols': ['src/sync/live-socket.ts', 'sync-server/src/'],
  lib0: ['src/protocol/signal.ts', 'src/messages/', 'src/sync/live-socket.ts', 'src/testing/', 'sync-server/src/'],
  'zod/mini': ['src/'],
  react: ['src/react/', 'src/agentskit/'],
}

/** The world around a file: whoever needs a part of it is handed it. */
const GLOBALS = [
  'indexedDB',
  'fetch',
  'WebSocket',
  'BroadcastChannel',
  'navigator',
  'document',
  'window',
  'self',
  'globalThis',
  'localStorage',
  'crypto',
  'performance',
  'process',
  'Math.random',
  'Date.now',
  'setTimeout',
  'setInterval',
  'requestAnimationFrame',
]

/** Who reaches for the world, and why. */
const RIM: Record<string, string> = {
  'src/browser-environment.ts': 'hands the browser in',
  'src/session/confirmation-coordinator.ts': 'the default of an option that hosts may leave out, as upstream has it',
  'src/session/create-chat-session.ts': 'the default of an option that hosts may leave out, as upstream has it',
  'src/session/new-id.ts': 'the default of an option that hosts may leave out, as upstream has it',
}

/** Files over 350 lines, and why. A test file is as long as its subject has rules, and is not asked. */
const LONG_FILES: Record<string, string> = {
  'src/testing/session-storage-suite.ts': 'one list of rules, published as one suite',
  'test/unit/core/schedules/sync-steps.ts': 'every step between device and server that a schedule may take',
  'test/unit/storage/database-conformance.ts': 'one list of rules, run on each database',
  'test/unit/storage/indexed-faults.ts': 'one list of faults, run on an imitation and in the browser',
}

const MEANINGLESS = /^(utils?|helpers?|common|misc|shared|types|manager|lib)$/

function folderOf(file: string): string | undefined {
  return /^src\/([^/]+)\//.exec(file)?.[1]
}

function forbiddenLayers(source: Source): string[] {
  const folder = folderOf(source.path)
  const allowed = folder === undefined ? undefined : LAYERS[folder]
  if (!allowed) return []
  return source.imports.flatMap(({ target, typeOnly }) => {
    if (!target || target === 'src/errors.ts' || (typeOnly && target in PORTS)) return []
    const to = folderOf(target)
    return to !== undefined && (to === folder || allowed.includes(to)) ? [] : [`${source.path} imports ${target}`]
  })
}

function forbiddenServerImports(source: Source): string[] {
  const allowed = /^(sync-server\/src|src\/(contract|protocol|core))\/|^src\/errors\.ts$/
  return source.imports.flatMap(({ target }) =>
    !target || allowed.test(target) ? [] : [`${source.path} imports ${target}`],
  )
}

function forbiddenPackages(source: Source): string[] {
  return source.imports.flatMap(({ specifier, typeOnly }) => {
    if (specifier.startsWith('.') || typeOnly) return []
    const name = specifier === 'zod/mini' ? specifier : specifier.split('/')[0]
    const places = PACKAGES[name ?? ''] ?? []
    return places.some((place) => source.path.startsWith(place)) ? [] : [`${source.path} imports ${specifier}`]
  })
}

function forbiddenGlobals(source: Source): string[] {
  if (source.path in RIM) return []
  return GLOBALS.filter((name) => source.globals.has(name)).map((name) => `${source.path} reaches for ${name}`)
}

function importCycles(all: readonly Source[]): string[] {
  const edges = new Map(
    all.map((it) => [it.path, it.imports.flatMap(({ target, typeOnly }) => (target && !typeOnly ? [target] : []))]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const walk = (file: string, trail: readonly string[]): void => {
    if (trail.includes(file)) cycles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
    if (done.has(file)) return
    done.add(file)
    for (const next of edges.get(file) ?? []) walk(next, [...trail, file])
  }
  for (const file of edges.keys()) walk(file, [])
  return cycles
}

test('imports go one way: contract, protocol, core, then storage and messages, then sync', () => {
  expect(within('src').flatMap(forbiddenLayers)).toEqual([])
})

test('the server imports only contract, protocol and core', () => {
  expect(within('sync-server/src').flatMap(forbiddenServerImports)).toEqual([])
})

test('the demo imports only public entries', () => {
  const pages = within('demo').filter((it) => !it.path.endsWith('.config.ts'))
  const reaching = pages.flatMap((it) =>
    it.imports
      .filter(({ target, specifier }) => (target ? !target.startsWith('demo/') : /^rejoin(-server)?\//.test(specifier)))
      .filter(
        ({ specifier }) =>
          !['rejoin/react', 'rejoin/agentskit', 'rejoin/protocol', 'rejoin/testing'].includes(specifier),
      )
      .map(({ specifier }) => `${it.path} imports ${specifier}`),
  )
  expect(reaching).toEqual([])
})

test('nobody imports an index.ts from inside', () => {
  const found = sources.flatMap((it) =>
    it.imports
      .filter(({ target }) => target?.endsWith('/index.ts'))
      .map(({ target }) => `${it.path} imports ${target}`),
  )
  expect(found).toEqual([])
})

test('an entry only re-exports, by name', () => {
  const entries = sources.filter((it) => /^(src|sync-server\/src|stand-in)\/(.+\/)?index\.ts$/.test(it.path))
  const found = entries.filter(
    (it) => it.hasStarExport || it.text.split('\n').some((line) => /^(const|let|function|class|import)\b/.test(line)),
  )
  expect(found.map((it) => it.path)).toEqual([])
})

test('no file imports itself through others', () => {
  expect(importCycles(within('src', 'sync-server/src'))).toEqual([])
})

test('a relative import names its file with the extension', () => {
  const found = sources.flatMap((it) =>
    it.imports
      .filter(({ target }) => target && !/\.(tsx?|mjs|css|json)(\?\w+)?$/.test(target))
      .map(({ specifier }) => `${it.path} imports ${specifier}`),
  )
  expect(found).toEqual([])
})

test('each package has its place: idb in storage, Yjs in messages, React in react', () => {
  expect(within('src').flatMap(forbiddenPackages)).toEqual([])
})

test('zod is imported only as a namespace of zod/mini', () => {
  const wrong = /from 'zod'|from 'zod\/(?!mini')|import (?!type |\* as z )[^\n]*from 'zod\/mini'/
  expect(
    within('src', 'sync-server/src', 'demo')
      .filter((it) => wrong.test(it.text))
      .map((it) => it.path),
  ).toEqual([])
})

test('clock, randomness, timers, network and database are passed in', () => {
  expect(within('src').flatMap(forbiddenGlobals)).toEqual([])
})

test('only storage opens transactions and names object stores', () => {
  const found = within('src')
    .filter((it) => !it.path.startsWith('src/storage/'))
    .flatMap((it) =>
      ['objectStore', 'createObjectStore', 'transaction', 'objectStoreNames']
        .filter((name) => it.members.has(name))
        .map((name) => `${it.path} uses ${name}`),
    )
  expect(found).toEqual([])
})

test('only the http client calls fetch, only the live socket opens a socket, only storage opens a database', () => {
  const places: Record<string, string> = {
    fetch: 'src/sync/http-client.ts',
    WebSocket: 'src/sync/live-socket.ts',
    WebsocketProvider: 'src/sync/live-socket.ts',
    openDB: 'src/storage/',
    deleteDB: 'src/storage/',
    deleteDatabase: 'src/storage/',
  }
  const found = within('src').flatMap((it) =>
    Object.entries(places)
      .filter(([name, place]) => it.calls.has(name) && !it.path.startsWith(place) && !(it.path in RIM))
      .map(([name]) => `${it.path} calls ${name}`),
  )
  expect(found).toEqual([])
})

test('exports are named', () => {
  const found = within('src', 'sync-server/src', 'demo', 'stand-in').filter(
    (it) => it.hasDefaultExport && !it.path.endsWith('.config.ts'),
  )
  expect(found.map((it) => it.path)).toEqual([])
})

test('file names are kebab-case and say what is inside', () => {
  const found = sources.filter((it) => {
    const name =
      it.path
        .split('/')
        .at(-1)
        ?.replace(/(\.(property\.test|test|config|server\.config|d))?\.tsx?$/, '') ?? ''
    return !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || MEANINGLESS.test(name)
  })
  expect(found.map((it) => it.path)).toEqual([])
})

test('a file over 350 lines has a reason', () => {
  const found = sources.filter((it) => it.lines > 350 && !/\.test\.tsx?$/.test(it.path) && !LONG_FILES[it.path])
  expect(found.map((it) => it.path)).toEqual([])
})

test('tests wait for events and never measure time', () => {
  const wrong =
    /\bsleep\(|Promise\(\(?(\w+)\)? => setTimeout\(\1, [1-9]|timers\/promises|waitForTimeout\(|performance\.now\(/
  const tests = within('test').filter((it) => !it.path.startsWith('test/architecture'))
  const found = tests.filter((it) => wrong.test(it.text))
  expect(found.map((it) => it.path)).toEqual([])
})

test('an exception that nobody needs is gone', () => {
  const needed = (file: string, need: (source: Source) => boolean) => sources.some((it) => it.path === file && need(it))
  const stale = [
    ...Object.keys(RIM).filter((file) => !needed(file, (it) => GLOBALS.some((name) => it.globals.has(name)))),
    ...Object.keys(LONG_FILES).filter((file) => !needed(file, (it) => it.lines > 350)),
    ...Object.keys(PORTS).filter((file) => !needed(file, () => true)),
  ]
  expect(stale).toEqual([])
})

test('the rules can fail: a file that breaks them is named', () => {
  const bad = readSource(
    'src/core/bad.ts',
    [
      "import { openDatabase } from '../storage/open-database.ts'",
      "import * as Y from 'yjs'",
      'export const at = Date.now() + Math.random() + new Date().getTime()',
      'export const later = (run: () => void) => setTimeout(run, 1)',
      'export default openDatabase',
      '',
    ].join('\n'),
  )
  expect(forbiddenLayers(bad)).toEqual(['src/core/bad.ts imports src/storage/open-database.ts'])
  expect(forbiddenPackages(bad)).toEqual(['src/core/bad.ts imports yjs'])
  expect(forbiddenGlobals(bad)).toEqual([
    'src/core/bad.ts reaches for Math.random',
    'src/core/bad.ts reaches for Date.now',
    'src/core/bad.ts reaches for setTimeout',
  ])
  expect(bad.hasDefaultExport).toBe(true)
  const server = readSource('sync-server/src/bad.ts', "import { x } from '../../src/storage/x.ts'\n")
  expect(forbiddenServerImports(server)).toEqual(['sync-server/src/bad.ts imports src/storage/x.ts'])
  const one = readSource('src/core/one.ts', "import { two } from './two.ts'\n")
  const two = readSource('src/core/two.ts', "import { one } from './one.ts'\n")
  expect(importCycles([one, two])).toEqual(['src/core/one.ts → src/core/two.ts → src/core/one.ts'])
})

test('a parameter that is called like a global is not the global', () => {
  const fine = readSource('src/core/fine.ts', 'export const call = (fetch: typeof globalThis.fetch) => fetch("x")\n')
  expect(forbiddenGlobals(fine)).toEqual([])
})
