import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { build } from 'vite'
import { packageSizes, sizeLine } from './package-sizes.mjs'

// The package into `dist`: modules, then their types, then what they weigh. The server into `sync-server/dist`.

rmSync('dist', { recursive: true, force: true })
await build({ logLevel: 'warn' })
const types = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
if (types.status !== 0) process.exit(1)
await build({ configFile: 'sync-server/vite.config.ts', logLevel: 'warn' })
for (const size of await packageSizes()) console.log(sizeLine(size))
