import type { Page } from 'playwright-core'

export interface RawSocketOptions {
  readonly room: string
  readonly token: string
  /** Sent when the socket is open: text, bytes, or so many zeros. Absent: nothing is sent. */
  readonly frame?: string | readonly number[] | { readonly zeros: number }
}

const CLOSED_WITHIN_MS = 10_000

/** Opens a socket in the page without the package, sends one frame, and resolves with the code that the socket ends with. */
export function openRawSocket(page: Page, options: RawSocketOptions): Promise<number> {
  return page.evaluate(
    ({ room, token, frame, withinMs }) =>
      new Promise<number>((resolve, reject) => {
        const socket = new WebSocket(room, ['rejoin.v1', `bearer.${token}`])
        setTimeout(() => reject(new Error('The socket was not closed.')), withinMs)
        socket.onopen = () => {
          if (typeof frame === 'string') socket.send(frame)
          else if (frame) socket.send('zeros' in frame ? new Uint8Array(frame.zeros) : Uint8Array.from(frame))
        }
        socket.onclose = ({ code }) => resolve(code)
      }),
    { ...options, withinMs: CLOSED_WITHIN_MS },
  )
}

/** Joins a room without the package and keeps what it is sent; resolves when it is in. Returns what was heard so far. */
export async function eavesdrop(
  page: Page,
  { room, token }: Pick<RawSocketOptions, 'room' | 'token'>,
): Promise<() => Promise<string>> {
  const heard = await page.evaluateHandle(
    ({ room, token }) =>
      new Promise<{ text: string }>((resolve, reject) => {
        const all = { text: '' }
        const socket = new WebSocket(room, ['rejoin.v1', `bearer.${token}`])
        socket.binaryType = 'arraybuffer'
        socket.onopen = () => resolve(all)
        socket.onclose = ({ code }) => reject(new Error(`The room was closed with ${code}.`))
        socket.onmessage = ({ data }) => {
          all.text += new TextDecoder().decode(data)
        }
      }),
    { room, token },
  )
  return () => heard.evaluate(({ text }) => text)
}
