import { isRejoinError, RejoinError } from '../errors.ts'

/** What an engine threw, as the error that callers see: classified by name, once, at the border. */
export function toStorageError(error: unknown): RejoinError {
  if (isRejoinError(error)) return error
  switch (nameOf(error)) {
    case 'QuotaExceededError':
      return new RejoinError('storage-full', 'The browser has no room left for this site.', {
        hint: 'Nothing was written. Free space on the device, or delete sessions that are synced.',
        cause: error,
      })
    case 'DataError':
    case 'NotReadableError':
      return new RejoinError('storage-corrupt', 'The browser cannot read back what it stored.', {
        hint: 'Nothing was written. Other sessions are not concerned.',
        cause: error,
      })
    default:
      return new RejoinError('storage-unavailable', 'The browser cannot use its database now.', {
        hint: 'Nothing was written. It may work again by itself; if it does not, reload the page.',
        cause: error,
      })
  }
}

/**
 * True if another handle may do better. Safari loses its storage process and then fails each call on the old handle
 * with `UnknownError` or `InvalidStateError`; a forced close aborts what was under way.
 */
export function isDeadHandle(error: unknown): boolean {
  return ['UnknownError', 'InvalidStateError', 'AbortError'].includes(nameOf(error) ?? '')
}

export function isVersionError(error: unknown): boolean {
  return nameOf(error) === 'VersionError'
}

export function closedError(): RejoinError {
  return new RejoinError('closed', 'The storage was closed.', { hint: 'Open Rejoin again to go on.' })
}

function nameOf(error: unknown): string | undefined {
  return error instanceof Error || error instanceof DOMException ? error.name : undefined
}
