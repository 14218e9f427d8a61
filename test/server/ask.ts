import type { RejoinServer } from 'rejoin-server'

export interface Asked {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, unless it is text already. */
  readonly body?: unknown
}

export interface Answered {
  readonly status: number
  readonly header: (name: string) => string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came.
  readonly body: any
}

/** One request, however it travels. */
export type Ask = (path: string, asked?: Asked) => Promise<Answered>

function withDefaults({ method = 'GET', headers = {}, body }: Asked) {
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const type = payload === undefined ? {} : { 'content-type': 'application/json' }
  return { method, headers: { 'rejoin-device': 'a', ...type, ...headers }, payload }
}

/** Without a socket. */
export function askByInjection(server: RejoinServer): Ask {
  return async (path, asked = {}) => {
    const { method, headers, payload } = withDefaults(asked)
    const answer = await server.app.inject({ method, url: path, headers, ...(payload !== undefined && { payload }) })
    return {
      status: answer.statusCode,
      header: (name) => answer.headers[name]?.toString(),
      body: parse(answer.body),
    }
  }
}

/** Through a real socket. */
export function askBySocket(url: string): Ask {
  return async (path, asked = {}) => {
    const { method, headers, payload } = withDefaults(asked)
    const answer = await fetch(url + path, { method, headers, ...(payload !== undefined && { body: payload }) })
    return {
      status: answer.status,
      header: (name) => answer.headers.get(name) ?? undefined,
      body: parse(await answer.text()),
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
