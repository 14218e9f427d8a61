import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { build } from 'vite'
import { packageSizes, SIZES_ARE, sizeLine } from './package-sizes.mjs'

// The package into `dist`, the server into `sync-server/dist`: modules, then their types; then what the package weighs.

rmSync('dist', { recursive: true, force: true })
await build({ logLevel: 'warn' })
emitTypes('tsconfig.build.json')
await build({ configFile: 'sync-server/vite.config.ts', logLevel: 'warn' })
emitTypes('sync-server/tsconfig.build.json')
console.log(SIZES_ARE)
for (const size of await packageSizes()) console.log(sizeLine(size))

function emitTypes(config) {
  const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', config], {
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(1)
}
