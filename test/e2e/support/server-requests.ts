/** Requests to the server without the package: to look at what it holds, and to ask for what no client would. */
export interface ServerRequests {
  readonly get: (path: string) => Promise<Answer>
  /** A string goes out as it is, everything else as JSON. */
  readonly send: (
    method: 'PUT' | 'POST' | 'DELETE',
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever came; the test says what it expects.
  readonly body: any
}

const ANSWER_WITHIN_MS = 10_000

export function requestsTo(
  url: string,
  { token, device = 'a-raw-client' }: { readonly token?: string; readonly device?: string } = {},
): ServerRequests {
  async function ask(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(url + path, {
      ...init,
      headers: {
        'rejoin-device': device,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...init.headers,
      },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    return { status: response.status, body: await response.json() }
  }
  return {
    get: (path) => ask(path, {}),
    send: (method, path, body, headers) =>
      ask(path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  }
}
