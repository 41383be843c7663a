/** The bytes of JSON's grammar. The functions below find their way in valid JSON without parsing it. */
export const QUOTE = 0x22
export const COLON = 0x3a
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const BACKSLASH = 0x5c
export const COMMA = 0x2c

/** Where the document's value starts, behind a BOM and white space. */
export function startOf(bytes: Buffer): number {
  return skipSpace(bytes, startsWithBom(bytes) ? 3 : 0)
}

/** The key that the bytes from its quote `start` up to `end` spell. */
export function keyOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end)
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}

/** Whether text begins with the byte order mark of UTF-8. */
export function startsWithBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** Whether a byte is JSON's white space. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Where the white space that starts at `from` ends. */
export function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(bytes[at])) at += 1
  return at
}

/** Where the next member or item starts, behind one that ends at `from`, or the object or list ends. */
export function skipComma(bytes: Buffer, from: number): number {
  const at = skipSpace(bytes, from)
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at
}

/** Where the value that starts at `start` ends. */
export function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return skipString(bytes, start)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, start)
  let at = start
  while (at < bytes.length && !endsScalar(bytes[at])) at += 1
  return at
}

/** A member of an object: its name, where that starts, and where its value starts and ends. */
export interface Member {
  key: string
  at: number
  start: number
  end: number
}

/** The members of the object that opens at `open`, in their order, however often one is there. */
export function* membersOf(bytes: Buffer, open: number): Generator<Member, undefined> {
  let at = skipSpace(bytes, open + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at)
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const end = skipValue(bytes, start)
    yield { key: keyOf(bytes, at, keyEnd), at, start, end }
    at = skipComma(bytes, end)
  }
}

function endsScalar(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte)
}

function skipNested(bytes: Buffer, open: number): number {
  const length = bytes.length
  let depth = 0
  let at = open
  while (at < length) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = skipString(bytes, at)
      continue
    }
    at += 1
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1
      if (depth === 0) break
    }
  }
  return at
}

/** Bytes looked at one by one before the native search is asked, whose call costs about as much. */
const NEAR = 64

/** Where the string that opens at `open` ends. Long stretches without a quote are skipped natively. */
export function skipString(bytes: Buffer, open: number): number {
  const length = bytes.length
  let at = open + 1
  while (at < length) {
    const near = Math.min(length, at + NEAR)
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at + 1
      at += byte === BACKSLASH ? 2 : 1
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) break
    if (!isEscaped(bytes, quote, at)) return quote + 1
    at = quote + 1
  }
  return length
}

/** True when an odd run of backslashes, none of them before `from`, stands in front of the quote. */
function isEscaped(bytes: Buffer, quote: number, from: number): boolean {
  let at = quote
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1
  return (quote - at) % 2 === 1
}

const needles = new Map<string, Buffer>()

/** One of the few keys that the gateway looks for, in quotes and as bytes: a string is found an eighth as fast. */
export function needleOf(key: string): Buffer {
  const known = needles.get(key)
  if (known !== undefined) return known
  const needle = Buffer.from(`"${key}"`)
  needles.set(key, needle)
  return needle
}
