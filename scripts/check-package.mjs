import { spawnSync } from 'node:child_process'
import { packageSizes, sizeLine } from './package-sizes.mjs'

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
for (const size of await packageSizes()) {
  console.log(sizeLine(size))
  if (size.bytes <= size.maxBytes) continue
  ok = false
  console.error(`${size.entry} is over its limit`)
}
process.exit(ok ? 0 : 1)
