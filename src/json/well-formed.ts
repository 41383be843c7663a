/** Any escape of a string in JSON; a surrogate pair that is spelled as two of them is one. */
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[89a-f][0-9a-f]{2}|.)/gi
/** How long the escape of half a pair is; no other has this length and begins so. */
const HALF = /^\\ud.{3}$/i

/**
 * JSON text without halves of surrogate pairs: U+FFFD stands for each, as it would in UTF-8. Parsers of other languages
 * refuse the whole text for one of them.
 */
export function wellFormed(text: string): string {
  if (!text.includes('\\ud') && !text.includes('\\uD')) return text
  return text.replace(ESCAPE, found => (HALF.test(found) ? '\ufffd' : found))
}

const NUL = /\\(?:u0000|.)/g

/**
 * JSON text that Postgres takes: U+FFFD stands for halves of surrogate pairs and for U+0000. It has no text with U+0000
 * in it, and refuses a whole statement for one.
 */
export function storable(text: string): string {
  const json = wellFormed(text)
  return json.includes('\\u0000')
    ? json.replace(NUL, found => (found === '\\u0000' ? '\ufffd' : found))
    : json
}
