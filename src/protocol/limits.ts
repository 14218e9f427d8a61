/** The bounds of one request; the server refuses beyond them with `too-large`, and clients stay below. */
export const MAX_REQUEST_BYTES = 1024 * 1024
/** Of one frame in a room, in both directions; the server closes a socket that sends more (1009). */
export const MAX_FRAME_BYTES = 1024 * 1024
export const MAX_JSON_DEPTH = 64
export const MAX_UPDATE_BYTES = 1024 * 1024
export const MAX_NOTE_LENGTH = 1000
/** How many answers' worth of updates one `GET …/updates` carries before it says `more`. */
export const UPDATES_PAGE_BYTES = 512 * 1024
export const FEED_PAGE_ITEMS = 500
