import { spawnSync } from 'node:child_process'

// Format and lint, types, import directions: everything that can be told without running the product.

const STEPS = [
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
  ['types', 'node_modules/typescript/bin/tsc', '-p', '.'],
  ['import directions', 'node_modules/vitest/vitest.mjs', 'run', '--project', 'node', 'test/architecture.test.ts'],
]

const failed = []
for (const [name, ...command] of STEPS) {
  const start = performance.now()
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' })
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${name}: ${status === 0 ? 'ok' : 'failed'}, ${seconds} s`)
  if (status !== 0) failed.push(name)
}
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`)
  process.exit(1)
}
