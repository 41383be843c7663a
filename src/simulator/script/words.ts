/** The longest word that still counts as one token, in UTF-16 units: text without spaces must not become one huge token. */
const LONGEST_WORD = 16

/**
 * The simulator's output tokens: a word with the white space before it, cut every 16 characters and never inside a surrogate
 * pair. Every delta carries one of them, `max tokens` counts them and usage reports their number.
 */
export function* words(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = endOfWord(text, start)
    yield text.slice(start, end)
    start = end
  }
}

function endOfWord(text: string, start: number): number {
  let end = start
  while (end < text.length && isSpace(text.charCodeAt(end))) end++
  const limit = end + LONGEST_WORD
  while (end < text.length && end < limit && !isSpace(text.charCodeAt(end))) end++
  return isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length ? end + 1 : end
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
