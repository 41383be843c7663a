import { MAX_PARTS, MAX_VALUES } from './json.ts'
import { BACKSLASH, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, skipString } from './scan.ts'

/**
 * What a member counts whose key begins with a digit: JavaScriptCore keeps whole numbers as places of a list, and spells
 * each out again, up to ten times as slowly as it finds another key, for everybody who asks an object for its keys.
 */
const NUMBERED = 10

/** Whether to parse a text would hold up everybody else. */
export function holdsUp(text: Uint8Array): boolean {
  return hasMorePartsThan(text, MAX_PARTS, MAX_VALUES)
}

/**
 * Whether a text has more than `most` objects, arrays and members, or more than `mostValues` commas. JSON.parse takes up to
 * a thousand times as long for one as for a letter of text. What is no JSON is counted all the same.
 */
export function hasMorePartsThan(
  text: Uint8Array,
  most: number,
  mostValues = Number.POSITIVE_INFINITY,
): boolean {
  if (text.length <= most) return false
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.length)
  let count = 0
  let values = 0
  let isNumbered = false
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      isNumbered = mayBeDigit(bytes[at + 1])
      at = skipString(bytes, at)
      continue
    }
    at += 1
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === COLON) {
      count += byte === COLON && isNumbered ? NUMBERED : 1
      if (count > most) return true
    } else if (byte === COMMA) {
      values += 1
      if (values > mostValues) return true
    }
  }
  return false
}

/** A digit may be spelled as an escape, too. */
function mayBeDigit(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || byte === BACKSLASH)
}
