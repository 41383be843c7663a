/** True when the text ends in the first half of a surrogate pair: its other half is in the next delta. */
export function endsInHalfPair(text: string): boolean {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
}

/** The text that may be passed on of what was held back and the next piece: a surrogate pair is never torn apart. */
export function joinPairs(open: { held: string }, piece: string): string {
  const text = open.held === '' ? piece : open.held + piece
  if (!endsInHalfPair(text)) {
    open.held = ''
    return text
  }
  open.held = text.slice(-1)
  return text.slice(0, -1)
}
