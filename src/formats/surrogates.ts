/** True when the text ends in the first half of a surrogate pair: its other half is in the next delta. */
export function endsInHalfPair(text: string): boolean {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
}
