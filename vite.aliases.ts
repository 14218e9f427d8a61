import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** Tests and the demo import by package name. These names lead to the source; with `REJOIN_BUILD=1`, to the build. */
const ours: Record<string, string> = {
  'rejoin/react': at('./src/react/index.ts'),
  'rejoin/agentskit': at('./src/agentskit/index.ts'),
  'rejoin/protocol': at('./src/protocol/index.ts'),
  'rejoin/testing': at('./src/testing/index.ts'),
  'rejoin-server': at('./sync-server/src/index.ts'),
  rejoin: at('./src/index.ts'),
}

/** AgentsKit is an optional peer: the stand-in takes its place only where the real package is not installed. */
const standIns: Record<string, string> = {
  '@agentskit/core': at('./stand-in/core/index.ts'),
  '@agentskit/react': at('./stand-in/react/index.ts'),
}

export function aliases(): { find: RegExp; replacement: string }[] {
  const missing = Object.entries(standIns).filter(([name]) => !existsSync(at(`./node_modules/${name}/package.json`)))
  const names = process.env.REJOIN_BUILD ? missing : [...Object.entries(ours), ...missing]
  return names.map(([name, replacement]) => ({ find: new RegExp(`^${name}$`), replacement }))
}
