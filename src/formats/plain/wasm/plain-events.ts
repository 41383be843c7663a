/**
 * AssemblyScript, not TypeScript: `bun run wasm:plain` compiles it to plain-events.wasm, which kernel.ts runs.
 *
 * Takes plain events (plain-text.ts) out of an upstream's bytes and writes a caller's around their texts. Both are told
 * by a template in this module's memory: what stands between the holes of an upstream's event, and what stands around
 * the text in a caller's. Reading one and writing the other in one pass over bytes takes a quarter of what it takes
 * with strings.
 */

/** Where the caller writes a template, and how much room it has. */
export const TEMPLATE: i32 = 512
export const TEMPLATE_BYTES: i32 = 15 * 1024
/** Where the caller writes the events. */
export const EVENTS: i32 = 16 * 1024
export const EVENTS_BYTES: i32 = 48 * 1024
/** Where the text of the events comes to stand, in UTF-8. */
export const SAID: i32 = 64 * 1024
/** Where the events for the caller come to stand. */
export const OUTPUT: i32 = 128 * 1024
export const OUTPUT_BYTES: i32 = 256 * 1024
/** Where the numbers stand that a run comes to; see the indices below. */
export const RESULT: i32 = 128

/** Indices of RESULT. Bytes that were written and said; UTF-16 units that were said. */
const WRITTEN: i32 = 0
const SAID_BYTES: i32 = 1
const SAID_UNITS: i32 = 2
/** Where in the events the last one's usage begins and ends. */
const USAGE_START: i32 = 3
const USAGE_END: i32 = 4
/** How many events were taken. */
const COUNT: i32 = 5
/** The index of RESULT, in numbers of eight bytes, where what is held back stands. */
const HELD: i32 = 3

/**
 * Indices of a template's numbers. A piece is its address and its length. Behind PIECES there are three numbers for each
 * piece of an upstream's event: address, length, and the kind of the hole behind it.
 */
const HOLES: i32 = 0
const BEFORE: i32 = 1
const BETWEEN: i32 = 3
const AFTER: i32 = 5
/** What is done with a text: 0 nothing, 1 its event is written, 2 numbered, 3 with the last character held back. */
const MANNER: i32 = 7
/** The piece that a usage begins in and where in it, and the same of its end; the first is -1 where there is none. */
const USAGE: i32 = 8
const PIECES: i32 = 12

const LISTENING: i32 = 0
const NUMBERING: i32 = 2
const HOLDING: i32 = 3

/** Kinds of holes. */
const TEXT: i32 = 0
const STRING: i32 = 1

/** More than any event can need beside its text and its pieces. */
const MARGIN: i32 = 64

const QUOTE: i32 = 0x22
const SLASH: i32 = 0x2f
const BACKSLASH: i32 = 0x5c
const SPACE: i32 = 0x20
const ZERO: i32 = 0x30

/** Where writing stands: of the caller's event, of what is said, and where the last character of the text begins. */
let out: i32 = 0
let said: i32 = 0
let units: i32 = 0
let last: i32 = 0

/**
 * Takes the plain events that stand at the beginning of so many bytes.
 * @param number the first event's, where they are numbered
 * @param held the character that is held back of the text so far, as it is escaped: six bytes at most, the first the
 * lowest, and none of them zero
 * @returns where they end
 */
export function takeEvents(length: i32, number: i32, held: f64): i32 {
  const end = EVENTS + length
  const manner = setting(MANNER)
  const holes = setting(HOLES)
  const around = setting(BEFORE + 1) + setting(BETWEEN + 1) + setting(AFTER + 1) + MARGIN
  let written = OUTPUT
  let spoken = SAID
  let spokenUnits = 0
  let count = 0
  let at = EVENTS
  let pending = <u64>held
  units = 0
  while (at < end) {
    // All that an event can become: its own bytes, and what stands around its text.
    if (written + (end - at) + around > OUTPUT + OUTPUT_BYTES && count > 0) {
      if (written + eventBound(at, end) + around > OUTPUT + OUTPUT_BYTES) break
    }
    out = written
    said = spoken
    let stop = at
    let isWhole = true
    let usageStart = -1
    let usageEnd = -1
    for (let piece = 0; piece <= holes; piece += 1) {
      const row = PIECES + 3 * piece
      const from = setting(row)
      const size = setting(row + 1)
      if (stop + size > end || !isSame(stop, from, size)) {
        isWhole = false
        break
      }
      if (setting(USAGE) === piece) usageStart = stop + setting(USAGE + 1)
      if (setting(USAGE + 2) === piece) usageEnd = stop + setting(USAGE + 3)
      stop += size
      if (piece === holes) break
      const kind = setting(row + 2)
      if (kind === TEXT) {
        if (manner !== LISTENING) begin(manner, number, pending)
        stop = takeText(stop, end)
      } else stop = kind === STRING ? endOfString(stop, end) : endOfCount(stop, end)
      if (stop < 0) {
        isWhole = false
        break
      }
    }
    if (!isWhole) break
    if (manner === HOLDING) {
      pending = load<u64>(last) & (((<u64>1) << (8 * (out - last))) - 1)
      out = last
    }
    if (manner !== LISTENING) {
      append(AFTER)
      written = out
    }
    number += 1
    count += 1
    spoken = said
    spokenUnits = units
    at = stop
    report(USAGE_START, usageStart - EVENTS)
    report(USAGE_END, usageEnd - EVENTS)
  }
  report(WRITTEN, written - OUTPUT)
  report(SAID_BYTES, spoken - SAID)
  report(SAID_UNITS, spokenUnits)
  report(COUNT, count)
  store<f64>(RESULT + (HELD << 3), <f64>pending)
  return at - EVENTS
}

function setting(index: i32): i32 {
  return load<i32>(TEMPLATE + (index << 2))
}

function report(index: i32, value: i32): void {
  store<i32>(RESULT + (index << 2), value)
}

/** How long the event that begins there is at most: up to its empty line. */
function eventBound(at: i32, end: i32): i32 {
  for (let to = at; to + 1 < end; to += 1) {
    if (load<u8>(to) === 0x0a && (load<u8>(to + 1) === 0x0a || load<u8>(to + 1) === 0x0d)) return to - at
  }
  return end - at
}

/** Writes what stands before the text of an event. */
function begin(manner: i32, number: i32, held: u64): void {
  append(BEFORE)
  if (manner === NUMBERING) {
    writeNumber(number)
    append(BETWEEN)
  } else if (manner === HOLDING) {
    store<u64>(out, held)
    out += (71 - <i32>clz(held)) >> 3
  }
}

function append(piece: i32): void {
  const size = setting(piece + 1)
  memory.copy(out, setting(piece), size)
  out += size
}

function writeNumber(number: i32): void {
  let digits = 1
  for (let rest = number; rest > 9; rest /= 10) digits += 1
  for (let to = out + digits - 1; to >= out; to -= 1) {
    store<u8>(to, ZERO + (number % 10))
    number /= 10
  }
  out += digits
}

/** Eight bytes at a time, the last eight overlapping those before. */
function isSame(a: i32, b: i32, size: i32): bool {
  if (size < 8) {
    for (let index = 0; index < size; index += 1) {
      if (load<u8>(a + index) !== load<u8>(b + index)) return false
    }
    return true
  }
  const rest = size - 8
  for (let index = 0; index < rest; index += 8) {
    if (load<u64>(a + index) !== load<u64>(b + index)) return false
  }
  return load<u64>(a + rest) === load<u64>(b + rest)
}

/** The end of a count as JSON spells it; -1 when there is none. */
function endOfCount(at: i32, end: i32): i32 {
  let to = at
  while (to < end && <u32>(load<u8>(to) - ZERO) < 10) to += 1
  return to === at || (to > at + 1 && load<u8>(at) === ZERO) ? -1 : to
}

/** The closing quote of a string whose inside begins there and means nothing; -1 when it is none without doubt. */
function endOfString(at: i32, end: i32): i32 {
  for (let to = at; to < end; to += 1) {
    while (to + 8 <= end && isSimple(load<u64>(to))) to += 8
    if (to >= end) return -1
    const byte: i32 = load<u8>(to)
    if (byte === QUOTE) return to
    if (byte < SPACE) return -1
    if (byte === BACKSLASH) {
      to += 1
      if (shortEscape(load<u8>(to)) === 0) return -1
    }
  }
  return -1
}

/** What a backslash and this letter mean, but for the solidus, which nobody has to escape; 0 when that is nothing. */
function shortEscape(letter: i32): i32 {
  if (letter === QUOTE || letter === BACKSLASH) return letter
  if (letter === 0x6e) return 0x0a
  if (letter === 0x74) return 0x09
  if (letter === 0x72) return 0x0d
  if (letter === 0x62) return 0x08
  if (letter === 0x66) return 0x0c
  return 0
}

/** A one, and the highest bit, in each of eight bytes. */
const ONES: u64 = ~(0 as u64) / 0xff
const HIGHS: u64 = ONES << 7

/** True when none of eight bytes is a quote, a backslash, a control character, or beyond ASCII. */
function isSimple(eight: u64): bool {
  const quotes = eight ^ (ONES * QUOTE)
  const backslashes = eight ^ (ONES * BACKSLASH)
  const odd = eight | (eight - ONES * SPACE) | (quotes - ONES) | (backslashes - ONES)
  return (odd & HIGHS) === 0
}

/**
 * Takes the text whose first character stands there: it is said as what it means, and written as JSON.stringify would.
 * @returns where its closing quote stands; -1 when it is no string of JSON or no UTF-8, not well-formed, or empty
 */
function takeText(at: i32, end: i32): i32 {
  let to = at
  while (to < end) {
    if (to + 8 <= end) {
      const eight = load<u64>(to)
      if (isSimple(eight)) {
        store<u64>(out, eight)
        store<u64>(said, eight)
        last = out + 7
        out += 8
        said += 8
        units += 8
        to += 8
        continue
      }
    }
    const byte: i32 = load<u8>(to)
    if (byte === QUOTE) return to === at ? -1 : to
    if (byte < SPACE) return -1
    last = out
    if (byte === BACKSLASH) to = takeEscape(to + 1, end)
    else if (byte < 0x80) {
      store<u8>(out, byte)
      store<u8>(said, byte)
      out += 1
      said += 1
      units += 1
      to += 1
    } else to = takeWide(to, end)
    if (to < 0) return -1
  }
  return -1
}

/** A character of more than one byte; -1 when that is no UTF-8. */
function takeWide(at: i32, end: i32): i32 {
  const first: i32 = load<u8>(at)
  const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  if (first < 0xc2 || first > 0xf4 || at + size > end) return -1
  for (let index = 1; index < size; index += 1) {
    if ((load<u8>(at + index) & 0xc0) !== 0x80) return -1
  }
  const second: i32 = load<u8>(at + 1)
  // Spelled longer than need be, half of a surrogate pair, or beyond the last character.
  if (first === 0xe0 && second < 0xa0) return -1
  if (first === 0xed && second > 0x9f) return -1
  if (first === 0xf0 && second < 0x90) return -1
  if (first === 0xf4 && second > 0x8f) return -1
  memory.copy(out, at, size)
  memory.copy(said, at, size)
  out += size
  said += size
  units += size === 4 ? 2 : 1
  return at + size
}

/** What stands behind a backslash. */
function takeEscape(at: i32, end: i32): i32 {
  if (at >= end) return -1
  const letter: i32 = load<u8>(at)
  const meant = letter === SLASH ? SLASH : shortEscape(letter)
  if (meant !== 0) {
    takeCharacter(meant)
    return at + 1
  }
  if (letter !== 0x75) return -1
  let code = hexadecimal(at + 1, end)
  if (code < 0 || (code & 0xfc00) === 0xdc00) return -1
  at += 5
  if ((code & 0xfc00) === 0xd800) {
    if (at + 6 > end || load<u8>(at) !== BACKSLASH || load<u8>(at + 1) !== 0x75) return -1
    const low = hexadecimal(at + 2, end)
    if ((low & 0xfc00) !== 0xdc00) return -1
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
    at += 6
  }
  takeCharacter(code)
  return at
}

/** Four digits; -1 when they are none. */
function hexadecimal(at: i32, end: i32): i32 {
  if (at + 4 > end) return -1
  let code = 0
  for (let index = 0; index < 4; index += 1) {
    const byte: i32 = load<u8>(at + index)
    const letter = byte | 0x20
    let digit = -1
    if (byte >= ZERO && byte <= 0x39) digit = byte - ZERO
    else if (letter >= 0x61 && letter <= 0x66) digit = letter - 0x61 + 10
    if (digit < 0) return -1
    code = (code << 4) | digit
  }
  return code
}

/** A character by its number. */
function takeCharacter(code: i32): void {
  units += code > 0xffff ? 2 : 1
  const size = encodeUtf8(said, code)
  if (code === QUOTE || code === BACKSLASH) writeEscape(code)
  else if (code >= SPACE) out += encodeUtf8(out, code)
  else if (code === 0x0a) writeEscape(0x6e)
  else if (code === 0x09) writeEscape(0x74)
  else if (code === 0x0d) writeEscape(0x72)
  else if (code === 0x08) writeEscape(0x62)
  else if (code === 0x0c) writeEscape(0x66)
  else {
    writeEscape(0x75)
    store<u8>(out, ZERO)
    store<u8>(out + 1, ZERO)
    store<u8>(out + 2, ZERO + (code >> 4))
    const digit = code & 15
    store<u8>(out + 3, digit < 10 ? ZERO + digit : 0x61 + digit - 10)
    out += 4
  }
  said += size
}

function writeEscape(letter: i32): void {
  store<u8>(out, BACKSLASH)
  store<u8>(out + 1, letter)
  out += 2
}

function encodeUtf8(to: i32, code: i32): i32 {
  if (code < 0x80) {
    store<u8>(to, code)
    return 1
  }
  if (code < 0x800) {
    store<u8>(to, 0xc0 | (code >> 6))
    store<u8>(to + 1, 0x80 | (code & 0x3f))
    return 2
  }
  if (code < 0x10000) {
    store<u8>(to, 0xe0 | (code >> 12))
    store<u8>(to + 1, 0x80 | ((code >> 6) & 0x3f))
    store<u8>(to + 2, 0x80 | (code & 0x3f))
    return 3
  }
  store<u8>(to, 0xf0 | (code >> 18))
  store<u8>(to + 1, 0x80 | ((code >> 12) & 0x3f))
  store<u8>(to + 2, 0x80 | ((code >> 6) & 0x3f))
  store<u8>(to + 3, 0x80 | (code & 0x3f))
  return 4
}
