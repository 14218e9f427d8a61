import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'

// The two rules on promises are named in the configuration and belong to a group that may change with any update of the
// linter: this shows that they still see what they are there for.
const SAMPLE = `interface Database {
  readonly close: () => Promise<boolean>
}
export function floating(db: Database): void {
  db.close()
}
export function misused(db: Database): string {
  return db.close() ? 'closed' : 'open'
}
`

test('a promise that nobody waits for, or that stands as a condition, fails the lint', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'rejoin-lint-'))
  try {
    const config = JSON.parse(readFileSync('biome.json', 'utf8'))
    writeFileSync(path.join(folder, 'biome.json'), JSON.stringify({ ...config, vcs: { enabled: false } }))
    writeFileSync(path.join(folder, 'sample.ts'), SAMPLE)
    const biome = path.resolve('node_modules/@biomejs/biome/bin/biome')
    const { status, stdout } = spawnSync(process.execPath, [biome, 'lint', '--reporter=github', 'sample.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(status).toBe(1)
    expect(stdout).toMatch(/noFloatingPromises[^\n]*line=5/)
    expect(stdout).toMatch(/noMisusedPromises[^\n]*line=8/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
