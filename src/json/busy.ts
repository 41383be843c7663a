import { COLON, OPEN_BRACE, OPEN_BRACKET, QUOTE, skipString } from './scan.ts'

/**
 * Whether a text has more than `most` objects, arrays and members. JSON.parse takes up to a thousand times as long for
 * one as for a letter of text. What is no JSON is counted all the same.
 */
export function isBusierThan(text: Uint8Array, most: number): boolean {
  if (text.length <= most) return false
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.length)
  let count = 0
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = skipString(bytes, at)
      continue
    }
    at += 1
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === COLON) {
      count += 1
      if (count > most) return true
    }
  }
  return false
}
