import { readFileSync } from 'node:fs'
import closeWithGrace from 'close-with-grace'
import { isRejoinError } from '../../src/errors.ts'
import { readCommandLine, USAGE } from './command-line.ts'
import { type ServerOptions, startServer } from './create-server.ts'
import { type RestoreOptions, restoreSqlite } from './restore-sqlite.ts'

const STOP_WITHIN_MS = 10_000

/** The command `rejoin-server`. */
async function main(): Promise<void> {
  const command = readCommandLine(process.argv.slice(2), process.env)
  switch (command.kind) {
    case 'help':
      process.stdout.write(USAGE)
      break
    case 'version':
      process.stdout.write(`${readVersion()}\n`)
      break
    case 'wrong':
      fail(command.message, 'See rejoin-server --help.')
      break
    case 'restore':
      await restore(command)
      break
    case 'start':
      await start(command.options)
      break
  }
}

async function restore(options: RestoreOptions): Promise<void> {
  try {
    const { epoch, doubts, replaced } = await restoreSqlite(options)
    process.stdout.write(`restored ${options.file}: epoch ${epoch}, confirmations in doubt: ${doubts}\n`)
    if (replaced !== undefined) process.stdout.write(`the file before it is kept as ${replaced}\n`)
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error), isRejoinError(error) ? error.hint : undefined)
  }
}

async function start(options: ServerOptions): Promise<void> {
  try {
    const server = await startServer(options)
    closeWithGrace({ delay: STOP_WITHIN_MS, logger: false }, async ({ err }) => {
      if (err) process.stderr.write(`rejoin-server: ${err.message}\n`)
      await server.close()
    })
    process.stdout.write(`rejoin-server listening on ${server.url}\n`)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE') fail('The port is taken.', 'Choose another with --port, or --port 0 for a free one.')
    else if (isRejoinError(error)) fail(error.message, error.hint)
    else fail(error instanceof Error ? error.message : String(error))
  }
}

function fail(message: string, hint?: string): void {
  process.stderr.write(`rejoin-server: ${message}${hint ? `\n${hint}` : ''}\n`)
  process.exitCode = 1
}

function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(manifest) as { version: unknown }).version)
}

await main()
