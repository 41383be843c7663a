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
 * What the escapes of a text's characters begin with. Of letters that is all up to the first digit of their codes; of
 * what has a code near that of `<`, `>` and `&`, which the encoders of whole languages escape, the code itself.
 */
export function escapesOf(text: string): string[] {
  return [...new Set([...text].flatMap(character => beginningsOf(character.charCodeAt(0).toString(16))))]
}

function beginningsOf(code: string): string[] {
  const whole = `\\u00${code}`
  return code < '40' ? [whole, `\\u00${code.toUpperCase()}`] : [whole.slice(0, -1)]
}
