import { mayBeEscaped } from './escapes.ts'
import type { JsonObject, JsonValue } from './json.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  isSpace,
  keyOf,
  needleOf,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipComma,
  skipSpace,
  skipString,
  skipValue,
  startOf,
} from './scan.ts'

/** What becomes of the value to which keys lead from the root. A number is a place in an array, as it was before any edit. */
export type JsonEdit = { path: readonly (string | number)[] } & (
  | { value: JsonValue }
  /** A value that is JSON text already, so that it keeps its spelling. */
  | { text: string }
  | { remove: true }
)

/**
 * Sets or removes values in JSON text and touches no other byte: key order, number spelling, white space, escapes and
 * unknown fields survive. A missing member is appended to its object; a missing parent is created, and one that is no
 * object is replaced. Of duplicate keys every occurrence is edited, since readers differ in which one they believe.
 * Edits apply one after another, so a later one wins over an earlier one of the same path.
 *
 * @param raw valid JSON in UTF-8, with or without a BOM; text that does not parse gives an undefined result.
 * @param parsed what `raw` says, where that is known: then most edits of a large text need no walk through all of it.
 */
export function spliceJson(raw: Uint8Array, edits: readonly JsonEdit[], parsed?: JsonObject): Uint8Array {
  if (edits.length === 0) return raw
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const patches = findPatches(bytes, edits, parsed)
  return patches.length === 0 ? raw : applyPatches(bytes, patches)
}

/** As `spliceJson`, for JSON that is a string. */
export function spliceText(json: string, edits: readonly JsonEdit[]): string {
  return new TextDecoder().decode(spliceJson(Buffer.from(json), edits))
}

/**
 * What `spliceJson` would change, in the order of the text: what is there already is no change.
 * @param bytes valid JSON in UTF-8
 */
export function findPatches(
  bytes: Buffer,
  edits: readonly JsonEdit[],
  parsed: JsonObject | undefined,
): Patch[] {
  return findAll(bytes, edits, parsed).filter(patch => !isThere(bytes, patch))
}

function findAll(bytes: Buffer, edits: readonly JsonEdit[], parsed: JsonObject | undefined): Patch[] {
  const [first] = edits
  if (first === undefined) return []
  const set = edits.length === 1 && parsed !== undefined ? setMember(bytes, first, parsed) : undefined
  if (set !== undefined) return [set]
  const plan = planOf(edits)
  const found = parsed === undefined ? undefined : patchMembers(bytes, plan, parsed)
  if (found !== undefined) return found
  const patches: Patch[] = []
  editValue(bytes, startOf(bytes), plan, patches)
  return patches.map(patch => within(bytes, patch))
}

/** Text that was cut off ends in the middle of what a patch is for. */
function within({ length }: Buffer, { start, end, text }: Patch): Patch {
  return { start: Math.min(start, length), end: Math.min(end, length), text }
}

/** A copy of the bytes in which the patches, of which no two touch, took the place of what they are for. */
export function applyPatches(bytes: Buffer, patches: readonly Patch[]): Buffer {
  let length = bytes.length
  for (const { start, end, text } of patches) length += Buffer.byteLength(text) - (end - start)
  const result = Buffer.allocUnsafe(length)
  let at = 0
  let kept = 0
  for (const { start, end, text } of patches) {
    at += bytes.copy(result, at, kept, start)
    at += result.write(text, at)
    kept = end
  }
  bytes.copy(result, at, kept)
  return result
}

/** The one edit of most requests, a new value for a member at the top; undefined where it takes the general way. */
function setMember(bytes: Buffer, edit: JsonEdit, parsed: JsonObject): Patch | undefined {
  const [key, below] = edit.path
  const text = textOf(edit)
  if (typeof key !== 'string' || below !== undefined || text === undefined) return undefined
  if (!PLAIN_KEY.test(key) || !Object.hasOwn(parsed, key)) return undefined
  const start = findValue(bytes, key)
  return start === undefined ? undefined : { start, end: skipValue(bytes, start), text }
}

/** Whether a patch would change nothing, as that of a model whose upstream calls it as the caller does. */
function isThere(bytes: Buffer, { start, end, text }: Patch): boolean {
  return end - start === Buffer.byteLength(text) && bytes.toString('utf8', start, end) === text
}

/** What becomes of one value: replaced by JSON text, removed, or kept as an object with some members edited. */
interface Plan {
  text: string | undefined
  removed: boolean
  readonly members: Map<string | number, Plan>
}

/** Text that takes the place of the bytes from `start` up to `end`. */
export interface Patch {
  start: number
  end: number
  text: string
}

function planOf(edits: readonly JsonEdit[]): Plan {
  const root = emptyPlan()
  for (const edit of edits) addEdit(root, edit.path, edit)
  return root
}

function emptyPlan(): Plan {
  return { text: undefined, removed: false, members: new Map() }
}

function addEdit(plan: Plan, path: JsonEdit['path'], edit: JsonEdit): void {
  const [key, ...rest] = path
  if (key === undefined) {
    plan.removed = 'remove' in edit
    plan.text = textOf(edit)
    plan.members.clear()
  } else if (plan.text !== undefined) {
    plan.text = spliceText(plan.text, [{ ...edit, path }])
  } else {
    if (plan.removed && 'remove' in edit) return
    if (plan.removed) Object.assign(plan, { removed: false, text: '{}' })
    if (plan.text !== undefined) return addEdit(plan, path, edit)
    const member = plan.members.get(key) ?? emptyPlan()
    plan.members.set(key, member)
    addEdit(member, rest, edit)
  }
}

function textOf(edit: JsonEdit): string | undefined {
  if ('remove' in edit) return undefined
  return 'text' in edit ? edit.text : JSON.stringify(edit.value)
}

/** True where there is nothing to write: all that the plan does is remove. */
function isMoot(plan: Plan): boolean {
  return plan.text === undefined && [...plan.members.values()].every(isMoot)
}

/** The plan as JSON text, for where the document has nothing to keep. */
function planText(plan: Plan): string {
  if (plan.text !== undefined) return plan.text
  return `{${[...plan.members].flatMap(([key, member]) => (isMoot(member) ? [] : [memberText(key, member)])).join(',')}}`
}

function memberText(key: string | number, plan: Plan): string {
  return `${JSON.stringify(String(key))}:${planText(plan)}`
}

/** Notes the patches for the value that starts at `at` and returns where it ends. */
function editValue(bytes: Buffer, at: number, plan: Plan, patches: Patch[]): number {
  if (plan.text === undefined && bytes[at] === OPEN_BRACE) return editObject(bytes, at, plan, patches)
  if (plan.text === undefined && bytes[at] === OPEN_BRACKET && namesPlaces(plan))
    return editArray(bytes, at, plan, patches)
  const end = skipValue(bytes, at)
  if (!isMoot(plan)) patches.push({ start: at, end, text: planText(plan) })
  return end
}

function editObject(bytes: Buffer, open: number, plan: Plan, patches: Patch[]): number {
  const missing = new Map([...plan.members].filter(([, member]) => !isMoot(member)))
  let last = open + 1 // where the last member ends
  let empty = true
  let at = skipSpace(bytes, last)
  while (bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at)
    const key = keyOf(bytes, at, keyEnd)
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const member = plan.members.get(key)
    if (member?.removed === true) {
      const end = skipValue(bytes, start)
      const next = skipComma(bytes, end)
      // Goes with the comma before it, or where nothing stays before it with the one behind it.
      patches.push(empty ? { start: at, end: next, text: '' } : { start: last, end, text: '' })
      last = empty ? next : end
      at = next
      continue
    }
    last = member === undefined ? skipValue(bytes, start) : editValue(bytes, start, member, patches)
    missing.delete(key)
    empty = false
    at = skipComma(bytes, last)
  }
  if (missing.size > 0) {
    const text = [...missing].map(([key, member]) => memberText(key, member)).join(',')
    patches.push({ start: last, end: last, text: empty ? text : `,${text}` })
  }
  return at + 1
}

/**
 * The patches of members at the top, each found by a native search for its key; undefined where that could find another
 * one. A key that is there and is spelled without escapes is where its text in quotes is, if that is there once.
 */
function patchMembers(bytes: Buffer, plan: Plan, parsed: JsonObject): Patch[] | undefined {
  const open = startOf(bytes)
  if (plan.text !== undefined || bytes[open] !== OPEN_BRACE || bytes[skipSpace(bytes, open + 1)] !== QUOTE)
    return undefined
  const patches: Patch[] = []
  let missing = ''
  for (const [key, member] of plan.members) {
    if (typeof key !== 'string' || !PLAIN_KEY.test(key) || member.removed) return undefined
    if (Object.hasOwn(parsed, key)) {
      const start = findValue(bytes, key)
      if (start === undefined) return undefined
      editValue(bytes, start, member, patches)
    } else if (!isMoot(member)) missing += `,${memberText(key, member)}`
  }
  if (missing !== '') {
    const end = endOfMembers(bytes)
    patches.push({ start: end, end, text: missing })
  }
  return patches.sort((one, other) => one.start - other.start)
}

/** Keys whose every character can be written in one other way only, as `\u00` and its code. */
const PLAIN_KEY = /^[a-z_]+$/

/** Where the value of a key at the top starts; undefined where the key could stand elsewhere, or twice. */
function findValue(bytes: Buffer, key: string): number | undefined {
  const needle = needleOf(key)
  const at = bytes.indexOf(needle)
  if (at < 0 || bytes.indexOf(needle, at + 1) >= 0 || mayBeEscaped(bytes, key)) return undefined
  const colon = skipSpace(bytes, at + needle.length)
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : undefined
}

/** Where the last member of the object that the text is ends; the object has one. */
function endOfMembers(bytes: Buffer): number {
  let at = bytes.lastIndexOf(CLOSE_BRACE)
  while (isSpace(bytes[at - 1])) at -= 1
  return at
}

function namesPlaces({ members }: Plan): boolean {
  return [...members.keys()].every(key => typeof key === 'number')
}

/** Edits the items that are there; places beyond the end are nothing to set. */
function editArray(bytes: Buffer, open: number, plan: Plan, patches: Patch[]): number {
  let last = open + 1 // where the last item that stays ends
  let empty = true
  let at = skipSpace(bytes, last)
  for (let place = 0; at < bytes.length && bytes[at] !== CLOSE_BRACKET; place += 1) {
    const item = plan.members.get(place)
    if (item?.removed === true) {
      const end = skipValue(bytes, at)
      const next = skipComma(bytes, end)
      // As a member goes.
      patches.push(empty ? { start: at, end: next, text: '' } : { start: last, end, text: '' })
      last = empty ? next : end
      at = next
      continue
    }
    last = item === undefined ? skipValue(bytes, at) : editValue(bytes, at, item, patches)
    empty = false
    at = skipComma(bytes, last)
  }
  return at + 1
}
