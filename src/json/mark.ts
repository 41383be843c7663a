/** Where a mark begins in some bytes, at `from` or after it; -1 when it does not occur. */
export function indexOfMark(bytes: Uint8Array, mark: Buffer, from = 0): number {
  // The native search takes any bytes. Making a Buffer of them, or the mark of a string, costs several times as much.
  return Buffer.prototype.indexOf.call(bytes, mark, from)
}

/** Where a mark begins last in some bytes, at `from` or before it; -1 when it does not occur there. */
export function lastIndexOfMark(bytes: Uint8Array, mark: Buffer, from: number): number {
  return Buffer.prototype.lastIndexOf.call(bytes, mark, from)
}

/** Whether any of these marks occurs in some bytes. */
export function hasMark(bytes: Uint8Array, marks: readonly Buffer[]): boolean {
  for (const mark of marks) if (indexOfMark(bytes, mark) >= 0) return true
  return false
}

/** Where the value of a key begins that ends there: behind white space and the colon. */
export function valueAfter(bytes: Uint8Array, keyEnd: number): number {
  let at = keyEnd
  while (isGap(bytes[at])) at += 1
  return at
}

function isGap(byte: number | undefined): boolean {
  return byte === 0x3a || byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
}
