import { spawnSync } from 'node:child_process'
import { packageSizes, SIZES_ARE, sizeLine } from './package-sizes.mjs'

// What a host gets from the registry, after `npm run build`: the manifests, the types under each way to resolve them,
// and the weight.

const publint = 'node_modules/publint/src/cli.js'
const attw = 'node_modules/@arethetypeswrong/cli/dist/index.js'
const STEPS = [
  ['manifest of rejoin', publint, '--strict'],
  ['types of rejoin', attw, '--pack', '.', '--profile', 'esm-only'],
  ['manifest of rejoin-server', publint, 'sync-server', '--strict'],
  ['types of rejoin-server', attw, '--pack', 'sync-server', '--profile', 'esm-only'],
]

let ok = true
for (const [name, ...command] of STEPS) {
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' })
  if (status === 0) continue
  ok = false
  console.error(`${name}: failed`)
}
console.log(SIZES_ARE)
for (const size of await packageSizes()) {
  const fits = size.bytes <= size.maxBytes
  ok &&= fits
  console[fits ? 'log' : 'error'](sizeLine(size))
}
process.exit(ok ? 0 : 1)
