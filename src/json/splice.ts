import { isJsonObject, type JsonValue } from './json.ts'

/** A value to set, and the keys that lead to it from the root. */
export interface JsonEdit {
  path: readonly string[]
  value: JsonValue
}

/**
 * Sets values in JSON text and touches no other byte: key order, number spelling, white space, escapes and unknown
 * fields survive. A missing member is appended to its object; a missing parent is created, and one that is no object
 * is replaced. Of duplicate keys every occurrence is set, since readers differ in which one they believe. Edits apply
 * one after another, so a later one wins over an earlier one of the same path.
 *
 * @param raw valid JSON in UTF-8, with or without a BOM; text that does not parse gives an undefined result.
 */
export function spliceJson(raw: Uint8Array, edits: readonly JsonEdit[]): Uint8Array {
  if (edits.length === 0) return raw
  const plan = planOf(edits)
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const patches: Patch[] = []
  editValue(bytes, skipSpace(bytes, startsWithBom(bytes) ? 3 : 0), plan, patches)
  return applyPatches(bytes, patches)
}

/** What becomes of one value: replaced by `value`, or kept as an object with some members edited. */
interface Plan {
  value: JsonValue | undefined
  readonly members: Map<string, Plan>
}

/** Text that takes the place of the bytes from `start` up to `end`. */
interface Patch {
  start: number
  end: number
  text: string
}

function planOf(edits: readonly JsonEdit[]): Plan {
  const root: Plan = { value: undefined, members: new Map() }
  for (const { path, value } of edits) addEdit(root, path, value)
  return root
}

function addEdit(plan: Plan, path: readonly string[], value: JsonValue): void {
  const [key, ...rest] = path
  if (key === undefined) {
    plan.value = value
    plan.members.clear()
  } else if (plan.value !== undefined) {
    plan.value = withMember(plan.value, path, value)
  } else {
    const member = plan.members.get(key) ?? { value: undefined, members: new Map() }
    plan.members.set(key, member)
    addEdit(member, rest, value)
  }
}

/** A copy of the value with one member set; `fromEntries` makes even `__proto__` an own key. */
function withMember(parent: JsonValue, path: readonly string[], value: JsonValue): JsonValue {
  const [key, ...rest] = path
  if (key === undefined) return value
  const members = new Map(isJsonObject(parent) ? Object.entries(parent) : [])
  members.set(key, withMember(members.get(key) ?? null, rest, value))
  return Object.fromEntries(members)
}

/** The plan as JSON text, for where the document has nothing to keep. */
function planText(plan: Plan): string {
  if (plan.value !== undefined) return JSON.stringify(plan.value)
  return `{${[...plan.members].map(([key, member]) => memberText(key, member)).join(',')}}`
}

function memberText(key: string, plan: Plan): string {
  return `${JSON.stringify(key)}:${planText(plan)}`
}

/** Notes the patches for the value that starts at `at` and returns where it ends. */
function editValue(bytes: Buffer, at: number, plan: Plan, patches: Patch[]): number {
  if (plan.value === undefined && bytes[at] === OPEN_BRACE) return editObject(bytes, at, plan, patches)
  const end = skipValue(bytes, at)
  patches.push({ start: at, end, text: planText(plan) })
  return end
}

function editObject(bytes: Buffer, open: number, plan: Plan, patches: Patch[]): number {
  const missing = new Map(plan.members)
  let last = open + 1 // where the last member ends
  let empty = true
  let at = skipSpace(bytes, last)
  while (bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at)
    const key = keyOf(bytes, at, keyEnd)
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const member = plan.members.get(key)
    last = member === undefined ? skipValue(bytes, start) : editValue(bytes, start, member, patches)
    missing.delete(key)
    empty = false
    at = skipSpace(bytes, last)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  if (missing.size > 0) {
    const text = [...missing].map(([key, member]) => memberText(key, member)).join(',')
    patches.push({ start: last, end: last, text: empty ? text : `,${text}` })
  }
  return at + 1
}

function keyOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end)
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}

function applyPatches(bytes: Buffer, patches: readonly Patch[]): Uint8Array {
  const pieces: Uint8Array[] = []
  let kept = 0
  for (const { start, end, text } of patches) {
    pieces.push(bytes.subarray(kept, start), Buffer.from(text, 'utf8'))
    kept = end
  }
  pieces.push(bytes.subarray(kept))
  return Buffer.concat(pieces)
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

function startsWithBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(bytes[at])) at += 1
  return at
}

/** Where the value that starts at `start` ends. */
function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return skipString(bytes, start)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, start)
  let at = start
  while (at < bytes.length && !endsScalar(bytes[at])) at += 1
  return at
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
function skipString(bytes: Buffer, open: number): number {
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
