/** WebSocket close codes: 4400 to 4499 are permanent, 4500 to 4599 ask for another try. */
export const CLOSE_CODES = {
  badFrame: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  notFound: 4404,
  otherIncarnation: 4409,
  deleted: 4410,
  tooLarge: 4413,
  updateInvalid: 4422,
  slowConsumer: 4508,
  unavailable: 4503,
} as const

export function isPermanentClose(code: number): boolean {
  return code >= 4400 && code < 4500
}
