/** Where a mark begins in some bytes, at `from` or after it; -1 when it does not occur. */
export function indexOfMark(bytes: Uint8Array, mark: Buffer, from = 0): number {
  // The native search takes any bytes. Making a Buffer of them, or the mark of a string, costs several times as much.
  return Buffer.prototype.indexOf.call(bytes, mark, from)
}

/** Whether any of these marks occurs in some bytes. */
export function hasMark(bytes: Uint8Array, marks: readonly Buffer[]): boolean {
  for (const mark of marks) if (indexOfMark(bytes, mark) >= 0) return true
  return false
}
