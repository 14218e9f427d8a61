import { RejoinError } from '../errors.ts'

export function deleted(sessionId: string): RejoinError {
  return new RejoinError('deleted', `Session ${sessionId} was deleted.`, {
    hint: 'Load the session again to begin anew; what was not synced is offered as an export.',
  })
}
