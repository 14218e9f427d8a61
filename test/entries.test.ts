import { existsSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test, vi } from 'vitest'

interface Manifest {
  readonly name: string
  readonly exports: Record<string, { readonly types: string; readonly default: string }>
}

const { name, exports } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const entries = Object.entries(exports).map(([key, { types, default: file }]) => ({
  specifier: key === '.' ? name : `${name}/${key.slice(2)}`,
  source: file.replace(/^\.\/dist\//, './src/').replace(/\.js$/, '.ts'),
  file,
  types,
}))

test('an entry has types of the same name, and the types of the repository lead to its source', () => {
  const { paths } = ts.readConfigFile('tsconfig.json', (file) => readFileSync(file, 'utf8')).config.compilerOptions
  for (const { specifier, source, file, types } of entries) {
    expect(types).toBe(file.replace(/\.js$/, '.d.ts'))
    expect(paths[specifier], specifier).toEqual([source])
    expect(existsSync(source), source).toBe(true)
  }
})

test.each(entries)('F66 $specifier can be imported where there is no browser', async ({ specifier }) => {
  const names = ['indexedDB', 'IDBObjectStore', 'window', 'document', 'BroadcastChannel', 'WebSocket', 'navigator']
  for (const each of names) vi.stubGlobal(each, undefined)
  try {
    expect(Object.keys(await import(/* @vite-ignore */ specifier)).length).toBeGreaterThan(0)
  } finally {
    vi.unstubAllGlobals()
  }
})
