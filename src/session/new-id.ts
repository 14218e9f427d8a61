/**
 * 32 hexadecimal characters that no other device makes. `crypto.randomUUID` exists in secure contexts only, so a page
 * on a plain local address would be left without ids.
 */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
