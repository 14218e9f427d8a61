import { build } from 'vite'

const CONFIGS = [
  'sync-server/vite.config.ts',
  'demo/vite.config.ts',
  'demo/vite.server.config.ts',
  'test/e2e/harness/vite.config.ts',
]

/** The tests drive the server process and the pages of people and of tests: all are built once, before the first test. */
export default async function buildOnce(): Promise<void> {
  for (const configFile of CONFIGS) await build({ configFile, logLevel: 'warn' })
}
