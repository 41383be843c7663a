/** What every escape of an ASCII character begins with. */
const ESCAPE = Buffer.from('\\u00')

/**
 * Whether JSON text may spell some of a text's characters, which are ASCII, as escapes, so that a search for the text
 * would miss it. Few clients escape ASCII, so one search settles it most of the time.
 */
export function mayBeEscaped(json: Buffer, text: string): boolean {
  return json.includes(ESCAPE) && escapesOf(text).some(beginning => json.includes(beginning))
}

/** What the escapes of a text's characters begin with: up to the first digit of their codes. */
export function escapesOf(text: string): string[] {
  return [...new Set([...text].map(character => `\\u00${firstDigitOf(character)}`))]
}

function firstDigitOf(character: string): string {
  return (character.charCodeAt(0) >> 4).toString(16)
}
