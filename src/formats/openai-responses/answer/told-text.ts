/** How much of a text its deltas said. */
export interface ToldText {
  /** UTF-16 units of those that were read. */
  length: number
  /** Bytes of JSON, about, of those that passed unread. */
  unreadBytes: number
}

/** What of a whole text its deltas did not say, as far as their lengths tell. */
export function untold(whole: string, { length, unreadBytes }: ToldText): string {
  const rest = whole.slice(length)
  if (unreadBytes === 0 || rest === '') return rest
  const bytes = Buffer.byteLength(JSON.stringify(rest)) - 2
  return rest.slice(Math.ceil((rest.length * unreadBytes) / bytes))
}
