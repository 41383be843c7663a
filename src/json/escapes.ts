/** What every escape of an ASCII character begins with. */
const ESCAPE = Buffer.from('\\u00')

/**
 * Whether JSON text may spell some of a text's characters, which are ASCII, as escapes, so that a search for the text
 * would miss it. Few clients escape ASCII, so one search settles it most of the time.
 */
export function mayBeEscaped(json: Buffer, text: string): boolean {
  return json.includes(ESCAPE) && escapesOf(text).some(beginning => json.includes(beginning))
}

/**
 * What the escapes of a text's characters begin with. Of letters that is all but the last digit of their codes, so that
 * few searches do for all. Of what stands before `@` it is the whole code: there are `<`, `>` and `&`, which the encoders
 * of some languages escape in every text.
 */
export function escapesOf(text: string): string[] {
  return [...new Set([...text].flatMap(character => beginningsOf(character.charCodeAt(0).toString(16))))]
}

function beginningsOf(code: string): string[] {
  const whole = `\\u00${code}`
  return code < '40' ? [whole, `\\u00${code.toUpperCase()}`] : [whole.slice(0, -1)]
}
