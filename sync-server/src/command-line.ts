import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { ServerOptions } from './create-server.ts'

export const USAGE = `rejoin-server: the sync server of Rejoin

  rejoin-server [options]
  rejoin-server restore <backup> [--data <file or folder>]
                          puts a backup in the place of the data file, which is kept beside it; the devices
                          give back what the backup lacks. The server must not run.

  --port <n>              port to listen on (8787); 0 takes a free one
  --host <address>        address to listen on (127.0.0.1); another than loopback needs --jwt-secret
  --data <file or folder> where the SQLite file is (./.data/rejoin.sqlite)
  --jwt-secret <secret>   verifies access tokens (JWT, HS256, at least 32 bytes);
                          better from the environment: REJOIN_JWT_SECRET
  --account <name>        the one account when there is no secret (local)
  --origin <origin>       pages of this origin may ask; may be given more than once
  --name <name>           the server's identity, which devices remember (rejoin)
  --rate-limit <n>        requests per minute and address (30000)
  --help, --version
`

export type Command =
  | { readonly kind: 'start'; readonly options: ServerOptions }
  | { readonly kind: 'restore'; readonly backup: string; readonly file: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'wrong'; readonly message: string }

/** Reads the command line; what is wrong with it is a value, to be printed. */
export function readCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  let values: ReturnType<typeof parse>['values']
  let words: readonly string[]
  try {
    ;({ values, positionals: words } = parse(args))
  } catch (error) {
    return { kind: 'wrong', message: error instanceof Error ? error.message : String(error) }
  }
  if (values.help) return { kind: 'help' }
  if (values.version) return { kind: 'version' }
  const [word, backup, ...more] = words
  if (word === 'restore') {
    if (backup === undefined || more.length > 0) return wrong('restore takes one backup.')
    return { kind: 'restore', backup, file: dataFile(values.data) }
  }
  if (word !== undefined) return wrong(`There is no command ${word}.`)
  const port = wholeNumber(values.port)
  if (port === 'wrong' || (port !== undefined && port > 65_535)) return wrong('--port is a number from 0 to 65535.')
  const requestsPerMinute = wholeNumber(values['rate-limit'])
  if (requestsPerMinute === 'wrong' || requestsPerMinute === 0) return wrong('--rate-limit is a number from 1.')
  const jwtSecret = values['jwt-secret'] ?? environment.REJOIN_JWT_SECRET
  const origins = values.origin ?? []
  const strange = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
  if (strange !== undefined) return wrong(`--origin ${strange} is not an origin such as https://app.example.`)
  return {
    kind: 'start',
    options: {
      file: dataFile(values.data),
      origins,
      log: true,
      ...(port !== undefined && { port }),
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(values.host !== undefined && { host: values.host }),
      ...(values.account !== undefined && { account: values.account }),
      ...(values.name !== undefined && { name: values.name }),
      ...(jwtSecret && { jwtSecret }),
    },
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      data: { type: 'string' },
      'jwt-secret': { type: 'string' },
      account: { type: 'string' },
      origin: { type: 'string', multiple: true },
      name: { type: 'string' },
      'rate-limit': { type: 'string' },
      help: { type: 'boolean' },
      version: { type: 'boolean' },
    },
  })
}

/** A folder, or a path that looks like one, holds `rejoin.sqlite`. */
function dataFile(data = '.data'): string {
  const isFolder = existsSync(data) ? statSync(data).isDirectory() : path.extname(path.basename(data).slice(1)) === ''
  return isFolder ? path.join(data, 'rejoin.sqlite') : data
}

function wholeNumber(text: string | undefined): number | 'wrong' | undefined {
  if (text === undefined) return undefined
  return /^\d{1,9}$/.test(text) ? Number(text) : 'wrong'
}

function wrong(message: string): Command {
  return { kind: 'wrong', message }
}
