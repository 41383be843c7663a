/**
 * AssemblyScript, not TypeScript: `bun run wasm` compiles it to cut-strings.wasm, which outline.ts runs. Strings are
 * looked at 64 bytes at a time; JSON.parse takes four times as long, most of it for making the strings.
 *
 * Takes the long strings out of a JSON text in this module's memory. All that stands between strings stays as it is and
 * unchecked, so that JSON.parse of what is left judges the whole; the strings are checked here.
 */

/** Where the caller writes the text, and 64 bytes of room behind it; the text without its long strings takes its place. */
export const TEXT: i32 = 64

/** Where the caller writes what every mark begins with: MARK_BYTES letters. */
export const MARK: i32 = 16
export const MARK_BYTES: i32 = 16

const QUOTE: i32 = 0x22
const BACKSLASH: i32 = 0x5c
const COLON: i32 = 0x3a
const SPACE: i32 = 0x20

/** Bytes of a row of the table: four numbers. */
const ROW: i32 = 16

let table: i32 = 0
let cuts: i32 = 0

/** Where the table of what was cut starts: of each string its start and end in the text, its bytes and its UTF-16 units. */
export function cutTable(): i32 {
  return table
}

export function cutCount(): i32 {
  return cuts
}

/** By how much the string that `stringEnd` saw last is shorter in UTF-8, and in UTF-16 units, than as it is spelled. */
let bytesSaved: i32 = 0
let unitsSaved: i32 = 0

/**
 * Puts a mark in the place of every string of more than `most` bytes that is no key: the mark's beginning, and six
 * letters that number it.
 * @returns the length of what is left; -1 where a string is not as JSON has it
 */
export function cutStrings(length: i32, most: i32): i32 {
  const end = TEXT + length
  table = (end + 64 + 15) & ~15
  cuts = 0
  let out = TEXT
  let at = TEXT
  while (at < end) {
    const open = nextQuote(at, end)
    const close = open < end ? closingQuote(open + 1, end) : end - 1
    if (close < 0) return -1
    const isCut = close - open - 1 > most && !isKey(close + 1, end)
    const kept = (isCut ? open + 1 : close + 1) - at
    memory.copy(out, at, kept)
    out += kept
    if (isCut) out = writeCut(out, open, close)
    at = close + 1
  }
  return out - TEXT
}

function writeCut(out: i32, open: i32, close: i32): i32 {
  memory.copy(out, MARK, MARK_BYTES)
  out += MARK_BYTES
  for (let shift = 20; shift >= 0; shift -= 4) store<u8>(out++, 0x61 + ((cuts >> shift) & 15))
  store<u8>(out++, QUOTE)
  const row = table + cuts * ROW
  const spelled = close - open - 1
  store<i32>(row, open - TEXT)
  store<i32>(row, close + 1 - TEXT, 4)
  store<i32>(row, spelled - bytesSaved, 8)
  store<i32>(row, spelled - unitsSaved, 12)
  cuts += 1
  return out
}

function nextQuote(from: i32, end: i32): i32 {
  const quotes = i8x16.splat(<i8>QUOTE)
  for (let at = from; at < end; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), quotes))
    if (found !== 0) return min(at + ctz(found), end)
  }
  return end
}

/** Whether a colon is what comes next. */
function isKey(from: i32, end: i32): bool {
  for (let at = from; at < end; at += 1) {
    const byte: i32 = load<u8>(at)
    if (byte === COLON) return true
    if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false
  }
  return false
}

/** The end of the string whose first byte is at `from`. Most are short and plain: those are done in one look. */
function closingQuote(from: i32, end: i32): i32 {
  const bytes = v128.load(from)
  const telling = v128.or(
    v128.or(i8x16.eq(bytes, i8x16.splat(<i8>QUOTE)), i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH))),
    i8x16.lt_u(bytes, i8x16.splat(<i8>SPACE)),
  )
  const found = i8x16.bitmask(telling)
  const at = from + ctz(found)
  if (found !== 0 && <i32>load<u8>(at) === QUOTE) return at < end ? at : -1
  return stringEnd(from, end)
}

const ODD_BITS: u64 = (u64.MAX_VALUE / 3) * 2

/** Where the closing quote of the string is whose first byte is at `from`; -1: it has none, or is not as JSON has it. */
function stringEnd(from: i32, end: i32): i32 {
  bytesSaved = 0
  unitsSaved = 0
  highEnd = -1
  // 1: the first byte of the block is escaped by the last one of the block before.
  let carried: u64 = 0
  for (let at = from; at < end; at += 64) {
    const a = v128.load(at)
    const b = v128.load(at, 16)
    const c = v128.load(at, 32)
    const d = v128.load(at, 48)
    const backslashes = equals(a, b, c, d, BACKSLASH)
    let escaped = carried
    if ((backslashes | carried) !== 0) {
      // Of a run of backslashes every second one is escaped, and what follows an odd run: as simdjson finds it, by a
      // subtraction that carries through the run.
      const escaping = backslashes & ~carried
      const ends = (((escaping << 1) | ODD_BITS) - escaping) ^ ODD_BITS
      escaped = ends ^ (backslashes | carried)
      carried = (ends & backslashes) >> 63
    }
    const closing = equals(a, b, c, d, QUOTE) & ~escaped
    const inside = (closing - 1) & ~closing
    if ((controls(a, b, c, d) & inside) !== 0) return -1
    escaped &= inside
    if (escaped !== 0) {
      if ((escaped & ~mask(escapable(a), escapable(b), escapable(c), escapable(d))) !== 0) return -1
      const count = <i32>popcnt(escaped)
      bytesSaved += count
      unitsSaved += count
      const codes = escaped & equals(a, b, c, d, 0x75)
      if (codes !== 0 && !readCodes(at, codes, end)) return -1
    }
    if (i8x16.bitmask(v128.or(v128.or(a, b), v128.or(c, d))) !== 0) unitsSaved += wide(a, b, c, d, inside)
    if (closing !== 0) {
      const close = at + <i32>ctz(closing)
      return close < end ? close : -1
    }
  }
  return -1
}

/** Where the escape of a high surrogate ended, the last of the string; -1 if there was none. */
let highEnd: i32 = -1

/** Counts the `\u` escapes whose `u` is at a bit of `codes`; false where one is not followed by four digits. */
function readCodes(block: i32, codes: u64, end: i32): bool {
  for (; codes !== 0; codes &= codes - 1) {
    const at = block + <i32>ctz(codes)
    if (at + 5 > end) return false
    const digits = digit(at + 1) | digit(at + 2) | digit(at + 3) | digit(at + 4)
    if (digits < 0) return false
    const code = (digit(at + 1) << 12) | (digit(at + 2) << 8) | (digit(at + 3) << 4) | digit(at + 4)
    const isLow = (code & 0xfc00) === 0xdc00
    unitsSaved += 4
    if (code < 0x80) bytesSaved += 4
    else if (code < 0x800) bytesSaved += 3
    // A pair is four bytes, three of which were counted for its first half; one alone is replaced by three.
    else bytesSaved += isLow && highEnd === at - 1 ? 4 : 2
    highEnd = (code & 0xfc00) === 0xd800 ? at + 5 : -1
  }
  return true
}

function digit(at: i32): i32 {
  const byte: i32 = load<u8>(at)
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** UTF-8 bytes more than UTF-16 units: continuation bytes make none, a lead of four bytes makes two. */
function wide(a: v128, b: v128, c: v128, d: v128, inside: u64): i32 {
  const first = i8x16.splat(-64)
  const four = i8x16.splat(-16)
  const continuations = mask(
    i8x16.lt_s(a, first),
    i8x16.lt_s(b, first),
    i8x16.lt_s(c, first),
    i8x16.lt_s(d, first),
  )
  const leads = mask(i8x16.ge_u(a, four), i8x16.ge_u(b, four), i8x16.ge_u(c, four), i8x16.ge_u(d, four))
  return <i32>popcnt(continuations & inside) - <i32>popcnt(leads & inside)
}

function controls(a: v128, b: v128, c: v128, d: v128): u64 {
  const space = i8x16.splat(<i8>SPACE)
  return mask(i8x16.lt_u(a, space), i8x16.lt_u(b, space), i8x16.lt_u(c, space), i8x16.lt_u(d, space))
}

function equals(a: v128, b: v128, c: v128, d: v128, byte: i32): u64 {
  const wanted = i8x16.splat(<i8>byte)
  return mask(i8x16.eq(a, wanted), i8x16.eq(b, wanted), i8x16.eq(c, wanted), i8x16.eq(d, wanted))
}

/**
 * The bytes that may follow a backslash: `"`, `/`, `\`, `b`, `f`, `n`, `r`, `t`, `u`. Each of their upper halves has a bit,
 * 2: 1, 5: 2, 6: 4, 7: 8, and each lower half has the bits of the upper ones that it may stand with.
 */
function escapable(bytes: v128): v128 {
  const lower = i8x16(0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1)
  const upper = i8x16(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0)
  const fits = v128.and(
    i8x16.swizzle(lower, v128.and(bytes, i8x16.splat(15))),
    i8x16.swizzle(upper, i8x16.shr_u(bytes, 4)),
  )
  return i8x16.ne(fits, i8x16.splat(0))
}

/** The highest bits of 64 bytes, the first one lowest. */
function mask(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    <u64>i8x16.bitmask(a) |
    ((<u64>i8x16.bitmask(b)) << 16) |
    ((<u64>i8x16.bitmask(c)) << 32) |
    ((<u64>i8x16.bitmask(d)) << 48)
  )
}
