import { mayBeEscaped } from './escapes.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { type Member, membersOf, needleOf, OPEN_BRACE, startOf } from './scan.ts'
import type { Patch } from './splice.ts'

/** Members of which an object is to have one each, since readers differ in which of several they believe. */
export interface Single {
  /** Of letters and `_`. */
  names: ReadonlySet<string>
  /** Those of them whose values, where they are objects, are held to the same; what stands in these is not. */
  holders: ReadonlySet<string>
}

/** A letter of each of the four rows of sixteen that they and `_` are in, whose escapes begin alike. */
const LETTERS = 'AZaz'

const NONE: ReadonlySet<string> = new Set()

/**
 * The patches that leave JSON text the last one of each of these members, which is the one that JSON.parse takes; none where
 * it has no more.
 * @param json what the text says: a search for each name in it settles it most of the time
 */
export function findRepeats(bytes: Buffer, json: JsonObject, single: Single): Patch[] {
  const mayRepeat = isTwice(bytes, json, single) || mayBeEscaped(bytes, LETTERS)
  return mayRepeat ? repeatsIn(bytes, startOf(bytes), single) : []
}

/** Whether any of the names stands twice anywhere. On the way of every request, so nothing is made for a name. */
function isTwice(bytes: Buffer, object: JsonObject, single: Single): boolean {
  for (const name in object) {
    if (!single.names.has(name)) continue
    const needle = needleOf(name)
    if (bytes.indexOf(needle, bytes.indexOf(needle) + 1) >= 0) return true
    const value = object[name]
    if (single.holders.has(name) && isJsonObject(value) && isTwice(bytes, value, held(single))) return true
  }
  return false
}

/** One step in, however often a holder stands in a holder. */
function held({ names }: Single): Single {
  return { names, holders: NONE }
}

function repeatsIn(bytes: Buffer, open: number, single: Single): Patch[] {
  const last = new Map<string, Member>()
  let found = 0
  for (const member of membersOf(bytes, open)) {
    if (!single.names.has(member.key)) continue
    last.set(member.key, member)
    found += 1
  }
  let patches = found > last.size ? earlierOnes(bytes, open, last) : []
  for (const { key, start } of last.values()) {
    if (!single.holders.has(key) || bytes[start] !== OPEN_BRACE) continue
    patches = patches.concat(repeatsIn(bytes, start, held(single)))
  }
  return patches.sort((one, other) => one.start - other.start)
}

/** Takes out what another one of the same name comes behind: neighbours in one go, as there may be a million. */
function earlierOnes(bytes: Buffer, open: number, last: ReadonlyMap<string, Member>): Patch[] {
  const patches: Patch[] = []
  let taken: number | undefined
  for (const { key, at } of membersOf(bytes, open)) {
    if ((last.get(key)?.at ?? at) > at) {
      taken ??= at
      continue
    }
    if (taken !== undefined) patches.push({ start: taken, end: at, text: '' })
    taken = undefined
  }
  return patches
}
