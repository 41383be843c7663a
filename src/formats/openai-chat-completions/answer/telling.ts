import { hasMark, indexOfMark, valueAfter } from '@/json/mark.ts'

const USAGE = Buffer.from('"usage"')
const FINISH_REASON = Buffer.from('"finish_reason"')
const ERROR = Buffer.from('"error"')
const NAME = Buffer.from('"name"')
const OTHERS = [Buffer.from('event: error'), Buffer.from('[DONE]')]

const QUOTE = 0x22
const BRACE = 0x7b
const LETTER_N = 0x6e

/**
 * Whether an event may say something about usage, the end or an error. A call that begins, which alone has a name, is
 * a part of the end: the reason for it where the vendor gives none. A quote inside a JSON string is escaped, so these
 * keys cannot be found in the answer's text.
 */
export function isTelling(event: Uint8Array): boolean {
  return (
    hasValue(event, USAGE, startsObject) ||
    hasValue(event, FINISH_REASON, startsFilledString) ||
    hasValue(event, ERROR, startsSomething) ||
    hasValue(event, NAME, startsFilledString) ||
    hasMark(event, OTHERS)
  )
}

/** True when a value of this key passes the test, which is given the position of the value's first byte. */
function hasValue(event: Uint8Array, key: Buffer, test: (event: Uint8Array, at: number) => boolean): boolean {
  for (let at = indexOfMark(event, key); at !== -1; at = indexOfMark(event, key, at + 1)) {
    if (test(event, valueAfter(event, at + key.length))) return true
  }
  return false
}

function startsObject(event: Uint8Array, at: number): boolean {
  return event[at] === BRACE
}

function startsFilledString(event: Uint8Array, at: number): boolean {
  return event[at] === QUOTE && event[at + 1] !== QUOTE
}

function startsSomething(event: Uint8Array, at: number): boolean {
  return event[at] !== LETTER_N
}
