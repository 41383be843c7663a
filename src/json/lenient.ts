const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)
const FIRST_PRINTABLE = 0x20

const ENDS = /\s*[}\]]/y

/**
 * What Google's parser takes though it is no JSON, as JSON: a comma behind the last member or item, and line breaks and
 * other control characters within strings. Examples in Google's documents have both:
 * https://github.com/google-gemini/cookbook/tree/main/quickstarts/rest. What else is wrong stays wrong.
 */
export function strictJson(text: string): string {
  const pieces: string[] = []
  let taken = 0
  const replace = (at: number, by: string) => {
    pieces.push(text.slice(taken, at), by)
    taken = at + 1
  }
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isInString = !isInString
    else if (!isInString) {
      if (code === COMMA && endsBehind(text, at)) replace(at, '')
    } else if (code === BACKSLASH) at += 1
    else if (code < FIRST_PRINTABLE) replace(at, JSON.stringify(text[at]).slice(1, -1))
  }
  return pieces.join('') + text.slice(taken)
}

/** Whether an object or a list ends behind a comma. */
function endsBehind(text: string, comma: number): boolean {
  ENDS.lastIndex = comma + 1
  return ENDS.test(text)
}
