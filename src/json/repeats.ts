import { mayBeEscaped } from './escapes.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { membersOf, needleOf, OPEN_BRACE, startOf } from './scan.ts'
import { applyPatches, type Patch } from './splice.ts'

/** Members of which an object is to have one each, since readers differ in which of several they believe. */
export interface Single {
  names: ReadonlySet<string>
  /** Those of them whose values, where they are objects, are held to the same. */
  holders: ReadonlySet<string>
}

/**
 * Whether JSON text has one of these members twice in its object.
 * @param json what the text says: a search for each name in it settles it most of the time
 */
export function hasRepeats(bytes: Buffer, json: JsonObject, single: Single): boolean {
  return mayRepeat(bytes, json, single) && repeatsIn(bytes, startOf(bytes), single).length > 0
}

/** The text with the last one of each of these members, which is the one that JSON.parse takes. */
export function withoutRepeats(bytes: Buffer, single: Single): Buffer {
  return applyPatches(bytes, repeatsIn(bytes, startOf(bytes), single))
}

function mayRepeat(bytes: Buffer, json: JsonObject, single: Single): boolean {
  const names = namesIn(json, single)
  return names.some(name => !isOnce(bytes, name)) || mayBeEscaped(bytes, names.join(''))
}

function namesIn(object: JsonObject, single: Single): string[] {
  return Object.keys(object).flatMap(name => {
    if (!single.names.has(name)) return []
    const value = object[name]
    return single.holders.has(name) && isJsonObject(value) ? [name, ...namesIn(value, single)] : name
  })
}

function isOnce(bytes: Buffer, name: string): boolean {
  const needle = needleOf(name)
  return bytes.indexOf(needle, bytes.indexOf(needle) + 1) < 0
}

/** Takes out what another one of the same name comes behind. */
function repeatsIn(bytes: Buffer, open: number, single: Single): Patch[] {
  const members = [...membersOf(bytes, open)]
  const last = new Map(members.map(({ key }, place) => [key, place]))
  return members.flatMap(({ key, at, start }, place) => {
    if (!single.names.has(key)) return []
    const next = members[place + 1]
    if (next !== undefined && last.get(key) !== place) return [{ start: at, end: next.at, text: '' }]
    return single.holders.has(key) && bytes[start] === OPEN_BRACE ? repeatsIn(bytes, start, single) : []
  })
}
