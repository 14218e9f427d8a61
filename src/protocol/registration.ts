/** Headers by which a device names itself; the label is what other devices show of it, at most 128 characters, URI-encoded. */
export const LABEL_HEADER = 'rejoin-device-label'
