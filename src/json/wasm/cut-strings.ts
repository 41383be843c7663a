/**
 * AssemblyScript, not TypeScript: `bun run wasm:json` compiles it to cut-strings.wasm, which outline.ts runs. Strings are
 * looked at 64 bytes at a time; JSON.parse takes seven times as long, most of it for making the strings.
 *
 * Takes the long strings out of a JSON text that comes through a window in this module's memory, piece by piece. All that
 * stands between strings stays as it is and unchecked, so that JSON.parse of what is left judges the whole; the strings
 * are checked here, but for their UTF-8.
 */

/** What every placeholder begins with, as the caller wrote it here: so many letters. */
export const PLACEHOLDER: i32 = 16
export const PLACEHOLDER_BYTES: i32 = 16

/** Where the caller writes each piece of the text, of at most so many bytes; there is room for another 64 behind it. */
export const TEXT: i32 = 64
export const WINDOW: i32 = 64 * 1024

/** Where what is left of a piece is, and how much at most: it can be longer than the piece by the placeholder that it ends with. */
export const LEFT: i32 = 66 * 1024
const LEFT_BYTES: i32 = WINDOW + 64

/** A row for each string that was cut: where it starts and ends in the text, and its length in UTF-8. */
export const ROWS: i32 = LEFT + LEFT_BYTES
const ROW: i32 = 12

const QUOTE: i32 = 0x22
const BACKSLASH: i32 = 0x5c
const COLON: i32 = 0x3a
const SPACE: i32 = 0x20

/** What `take` returns for a text that is no JSON; and what a search finds where it has to wait for the next piece. */
const WRONG: i32 = -1
const LATER: i32 = -2

/** Where the window stands in the text. */
let base: i32 = 0

/** Where the long string starts, in the text, that the window ended in or right behind; -1: in none. */
let openAt: i32 = -1
/** Where that string ends, if it does; -1: it goes on. */
let closeAt: i32 = -1

let written: i32 = 0
let cutCount: i32 = 0
let rowCount: i32 = 0
let keyCount: i32 = 0
let wide: i32 = 0

/** Bytes that are left of the last piece. */
export function leftBytes(): i32 {
  return written
}

/** Rows that the last piece brought. */
export function rows(): i32 {
  return rowCount
}

/** 1: behind what is left of the last piece belongs the long key whose row is the first one behind the rows. */
export function keys(): i32 {
  return keyCount
}

/** Not 0: a long string may have had bytes that are no ASCII. */
export function isWide(): i32 {
  return wide
}

/** Begins a text. */
export function begin(): void {
  base = 0
  openAt = -1
  closeAt = -1
  cutCount = 0
  wide = 0
}

/**
 * Takes the next piece of the text, which begins where the last one was done with. Every string of more than `most` bytes
 * that is no key gets a placeholder: the beginning that stands at PLACEHOLDER, and six letters that number it.
 * @returns the bytes of the piece that are done with; -1 where a string is not as JSON has it
 */
export function take(length: i32, most: i32, isLast: bool): i32 {
  const end = TEXT + length
  written = 0
  rowCount = 0
  keyCount = 0
  let at = TEXT
  if (openAt >= 0) {
    at = goOn(end, isLast)
    if (at < 0) return WRONG
    if (openAt >= 0 || keyCount > 0) return done(at)
  }
  let kept = at
  while (true) {
    const open = nextQuote(at, end)
    if (open === end) {
      at = end
      break
    }
    const close = closingQuote(open + 1, end, isLast)
    if (close === WRONG) return WRONG
    if (close === LATER && reached - open <= most) {
      // Too short to be cut as far as it is known, so it comes again with the next piece.
      at = open
      break
    }
    if (close >= 0 && close - open - 1 <= most) {
      at = close + 1
      continue
    }
    const next = close >= 0 ? nextToken(close + 1, end, isLast) : LATER
    at = close >= 0 ? close + 1 : reached
    if (next === COLON) continue
    keep(kept, open)
    kept = at
    openAt = base + open - TEXT
    if (next === LATER) {
      closeAt = close >= 0 ? base + close - TEXT : -1
      return done(at)
    }
    writeCut(base + close - TEXT)
  }
  keep(kept, at)
  return done(at)
}

function done(at: i32): i32 {
  base += at - TEXT
  return at - TEXT
}

/** Goes on with the long string of the piece before, and returns where it is done with. */
function goOn(end: i32, isLast: bool): i32 {
  let at = TEXT
  if (closeAt < 0) {
    const close = stringEnd(TEXT, end, isLast)
    if (close === WRONG) return WRONG
    if (close === LATER) return reached
    closeAt = base + close - TEXT
    at = close + 1
  }
  const next = nextToken(at, end, isLast)
  // White space that fills a whole window is nothing that anybody writes.
  if (next === LATER) return at > TEXT ? at : WRONG
  if (next === COLON) writeKey()
  else writeCut(closeAt)
  return at
}

function keep(from: i32, to: i32): void {
  memory.copy(LEFT + written, from, to - from)
  written += to - from
}

function writeCut(close: i32): void {
  let out = LEFT + written
  store<u8>(out++, QUOTE)
  v128.store(out, v128.load(PLACEHOLDER))
  out += PLACEHOLDER_BYTES
  for (let shift = 20; shift >= 0; shift -= 4) store<u8>(out++, 0x61 + ((cutCount >> shift) & 15))
  store<u8>(out++, QUOTE)
  written = out - LEFT
  writeRow(close)
  cutCount += 1
  rowCount += 1
}

function writeKey(): void {
  writeRow(closeAt)
  keyCount = 1
}

function writeRow(close: i32): void {
  const row = ROWS + rowCount * ROW
  store<i32>(row, openAt)
  store<i32>(row, close + 1, 4)
  store<i32>(row, close - openAt - 1 - saved, 8)
  openAt = -1
  closeAt = -1
}

function nextQuote(from: i32, end: i32): i32 {
  const quotes = i8x16.splat(<i8>QUOTE)
  for (let at = from; at < end; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), quotes))
    if (found !== 0) return min(at + ctz(found), end)
  }
  return end
}

/** The first byte that is no white space; 0 where there is none. */
function nextToken(from: i32, end: i32, isLast: bool): i32 {
  for (let at = from; at < end; at += 1) {
    const byte: i32 = load<u8>(at)
    if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
  }
  return isLast ? 0 : LATER
}

/** Strings that end so soon are looked at in smaller steps. */
const NEAR: i32 = 256

/** The end of the string whose first byte is at `from`. Most are short and plain, and those need no more than this. */
function closingQuote(from: i32, end: i32, isLast: bool): i32 {
  const quote = i8x16.splat(<i8>QUOTE)
  const backslash = i8x16.splat(<i8>BACKSLASH)
  const space = i8x16.splat(<i8>SPACE)
  const near = min(from + NEAR, end)
  for (let at = from; at < near; at += 16) {
    const bytes = v128.load(at)
    const telling = v128.or(
      v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash)),
      i8x16.lt_u(bytes, space),
    )
    const found = i8x16.bitmask(telling)
    if (found === 0) continue
    const place = at + ctz(found)
    if (place < end && <i32>load<u8>(place) === QUOTE) return place
    break
  }
  carried = 0
  saved = 0
  highEnd = -1
  return stringEnd(from, end, isLast)
}

/** 1: the next block's first byte is escaped by the last one of this block. */
let carried: u64 = 0

/** By how much the string that is looked at is shorter in UTF-8 than as it is spelled. */
let saved: i32 = 0

/** Where the escape of a high surrogate ended, in the text, the last of the string; -1 if there was none. */
let highEnd: i32 = -1

/** Where the search stopped that has to wait for the next piece. */
let reached: i32 = 0

/** What a block must have behind it, for an escape that begins in it. */
const LOOKAHEAD: i32 = 64 + 8

/**
 * Where the closing quote of the string is, of which all up to `from` was looked at; WRONG: it has none, or is not as JSON
 * has it.
 */
function stringEnd(from: i32, end: i32, isLast: bool): i32 {
  const stop = isLast ? end : end - LOOKAHEAD
  let at = plainBlocks(from, stop)
  while (at < stop) {
    const close = blockEnd(at, end)
    if (close !== LATER) return close
    at = plainBlocks(at + 64, stop)
  }
  reached = at
  return isLast ? WRONG : LATER
}

/**
 * Passes over blocks in which the string goes on and nothing is wrong for certain, and returns the first other one. It calls
 * nothing, since JavaScriptCore keeps no vector in a register across a loop that does: that costs a third of the time.
 */
export function plainBlocks(from: i32, stop: i32): i32 {
  const quote = i8x16.splat(<i8>QUOTE)
  const backslash = i8x16.splat(<i8>BACKSLASH)
  const space = i8x16.splat(<i8>SPACE)
  let carry = carried
  let escapes = 0
  let all = i8x16.splat(0)
  let at = from
  for (; at < stop; at += 64) {
    const a = v128.load(at)
    const b = v128.load(at, 16)
    const c = v128.load(at, 32)
    const d = v128.load(at, 48)
    const least = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d))
    if (v128.any_true(i8x16.lt_u(least, space))) break
    all = v128.or(all, v128.or(v128.or(a, b), v128.or(c, d)))
    const quotes = equals(a, b, c, d, quote)
    const backslashes = equals(a, b, c, d, backslash)
    if ((backslashes | carry) === 0) {
      if (quotes !== 0) break
      continue
    }
    const ends = runEnds(backslashes, carry)
    const escaped = ends ^ (backslashes | carry)
    const usual = quotes | mask(isUsual(a), isUsual(b), isUsual(c), isUsual(d))
    if (((quotes & ~escaped) | (escaped & ~usual)) !== 0) break
    escapes += <i32>popcnt(escaped)
    carry = (ends & backslashes) >> 63
  }
  wide |= i8x16.bitmask(all)
  carried = carry
  saved += escapes
  return at
}

/** Where in a block the string ends; LATER: it goes on. */
function blockEnd(at: i32, end: i32): i32 {
  const a = v128.load(at)
  const b = v128.load(at, 16)
  const c = v128.load(at, 32)
  const d = v128.load(at, 48)
  const quotes = equals(a, b, c, d, i8x16.splat(<i8>QUOTE))
  const backslashes = equals(a, b, c, d, i8x16.splat(<i8>BACKSLASH))
  const ends = runEnds(backslashes, carried)
  let escaped = ends ^ (backslashes | carried)
  carried = (ends & backslashes) >> 63
  const closing = quotes & ~escaped
  const inside = (closing - 1) & ~closing
  const space = i8x16.splat(<i8>SPACE)
  const controls = mask(
    i8x16.lt_u(a, space),
    i8x16.lt_u(b, space),
    i8x16.lt_u(c, space),
    i8x16.lt_u(d, space),
  )
  if ((controls & inside) !== 0) return WRONG
  wide |= i8x16.bitmask(v128.or(v128.or(a, b), v128.or(c, d)))
  escaped &= inside
  saved += <i32>popcnt(escaped)
  const usual = quotes | mask(isUsual(a), isUsual(b), isUsual(c), isUsual(d))
  if (!readEscapes(at, escaped & ~usual, end)) return WRONG
  if (closing === 0) return LATER
  const close = at + <i32>ctz(closing)
  return close < end ? close : WRONG
}

const ODD_BITS: u64 = (u64.MAX_VALUE / 3) * 2

/**
 * With the backslashes themselves it gives the bytes that are escaped, of a run every second one and what follows an odd
 * run: as simdjson finds them, by a subtraction that carries through the run.
 * @param carry 1: the first byte is escaped by the last one of the block before
 */
function runEnds(backslashes: u64, carry: u64): u64 {
  const escaping = backslashes & ~carry
  return (((escaping << 1) | ODD_BITS) - escaping) ^ ODD_BITS
}

/**
 * Which bytes are `/`, `\`, `f`, `n`, `r` or `t`: what mostly follows a backslash, if no quote does. No two of them have
 * the same lower half, which is their place in the list.
 */
function isUsual(bytes: v128): v128 {
  const letters = i8x16(1, 0, 0x72, 0, 0x74, 0, 0x66, 0, 0, 0, 0, 0, 0x5c, 0, 0x6e, 0x2f)
  return i8x16.eq(bytes, i8x16.swizzle(letters, v128.and(bytes, i8x16.splat(15))))
}

/** Counts the escapes whose second byte is at a bit of `rest`, which are `\u` or `\b`; false where one is neither. */
function readEscapes(block: i32, rest: u64, end: i32): bool {
  for (; rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest)
    const byte: i32 = load<u8>(at)
    if (byte === 0x62) continue
    if (byte !== 0x75 || !readCode(at, end)) return false
  }
  return true
}

/** Counts the `\u` escape whose `u` is at `at`; false where it is not followed by four digits. */
function readCode(at: i32, end: i32): bool {
  if (at + 5 > end) return false
  const digits = digit(at + 1) | digit(at + 2) | digit(at + 3) | digit(at + 4)
  if (digits < 0) return false
  const code = (digit(at + 1) << 12) | (digit(at + 2) << 8) | (digit(at + 3) << 4) | digit(at + 4)
  const place = base + at
  const isLow = (code & 0xfc00) === 0xdc00
  if (code < 0x80) saved += 4
  else if (code < 0x800) saved += 3
  // A pair is four bytes, three of which were counted for its first half; one alone is replaced by three.
  else saved += isLow && highEnd === place - 1 ? 4 : 2
  highEnd = (code & 0xfc00) === 0xd800 ? place + 5 : -1
  return true
}

function digit(at: i32): i32 {
  const byte: i32 = load<u8>(at)
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function equals(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
  return mask(i8x16.eq(a, byte), i8x16.eq(b, byte), i8x16.eq(c, byte), i8x16.eq(d, byte))
}

/** The highest bits of 64 bytes, the first one lowest. */
function mask(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    <u64>(<u32>i8x16.bitmask(a)) |
    ((<u64>(<u32>i8x16.bitmask(b))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(c))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(d))) << 48)
  )
}
