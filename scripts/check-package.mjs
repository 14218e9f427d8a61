import { spawnSync } from 'node:child_process'
import { packageSizes, sizeLine } from './package-sizes.mjs'

// What a host gets from the registry: the manifest, the types under each way to resolve them, and the weight.

const STEPS = [
  ['manifest', 'node_modules/publint/src/cli.js', '--strict'],
  ['types', 'node_modules/@arethetypeswrong/cli/dist/index.js', '--pack', '.', '--profile', 'esm-only'],
]

let ok = true
for (const [name, ...command] of STEPS) {
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' })
  if (status === 0) continue
  ok = false
  console.error(`${name}: failed`)
}
for (const size of await packageSizes()) {
  console.log(sizeLine(size))
  if (size.bytes <= size.maxBytes) continue
  ok = false
  console.error(`${size.entry} is over its limit`)
}
process.exit(ok ? 0 : 1)
