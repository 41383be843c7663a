import { QUOTE, skipString } from './scan.ts'

/** Longer strings than this are content: an image, a sound. */
const LONG_BYTES = 16 * 1024

const EMPTY = Buffer.from('""')

/**
 * JSON text with its long strings emptied: what is left says all about an answer but what it holds, and is small enough
 * to be parsed. The input itself if there are none.
 * @param raw valid JSON in UTF-8; text that does not parse gives text that does not, either
 */
export function emptyLongStrings(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  if (bytes.length <= LONG_BYTES) return raw
  const pieces: Uint8Array[] = []
  let kept = 0
  for (let at = bytes.indexOf(QUOTE); at >= 0; ) {
    const end = skipString(bytes, at)
    if (end - at > LONG_BYTES && bytes[end - 1] === QUOTE) {
      pieces.push(bytes.subarray(kept, at), EMPTY)
      kept = end
    }
    at = bytes.indexOf(QUOTE, end)
  }
  if (pieces.length === 0) return raw
  pieces.push(bytes.subarray(kept))
  return Buffer.concat(pieces)
}
