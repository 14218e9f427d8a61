import { RejoinError } from '../errors.ts'

export function deleted(sessionId: string): RejoinError {
  return new RejoinError('deleted', `Session ${sessionId} was deleted.`, {
    hint: 'Load it again to begin anew. Where rejoin.attention lists it, discard first what this device still holds of it.',
  })
}
