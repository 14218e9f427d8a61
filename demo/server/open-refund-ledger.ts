import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import path from 'node:path'

export interface Refund {
  readonly id: string
  /** Which device ran it. */
  readonly device: string
  /** Epoch ms. */
  readonly at: number
}

/** Every refund that was ever run, each run a line of its own: a refund that ran twice is there twice. */
export interface RefundLedger {
  readonly refunds: () => readonly Refund[]
  /** On disk when it returns, also through a killed process. */
  readonly record: (refund: Refund) => void
  readonly close: () => void
}

export function openRefundLedger(file: string): RefundLedger {
  mkdirSync(path.dirname(file), { recursive: true })
  const handle = openSync(file, 'a+')
  const text = readFileSync(file, 'utf8')
  // A process that was killed while it wrote leaves half a line: nobody was told of it, and it ends here.
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  if (complete.length < text.length) ftruncateSync(handle, Buffer.byteLength(complete))
  const refunds = complete
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Refund)
  return {
    refunds: () => refunds,
    record: (refund) => {
      writeSync(handle, `${JSON.stringify(refund)}\n`)
      fsyncSync(handle)
      refunds.push(refund)
    },
    close: () => closeSync(handle),
  }
}
