import { mayBeEscaped } from './escapes.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { membersOf, needleOf, OPEN_BRACE, startOf } from './scan.ts'
import type { Patch } from './splice.ts'

/** Members of which an object is to have one each, since readers differ in which of several they believe. */
export interface Single {
  names: ReadonlySet<string>
  /** Those of them whose values, where they are objects, are held to the same; what stands in these is not. */
  holders: ReadonlySet<string>
}

const NONE: ReadonlySet<string> = new Set()

/**
 * The patches that leave JSON text the last one of each of these members, which is the one that JSON.parse takes; none where
 * it has no more.
 * @param json what the text says: a search for each name in it settles it most of the time
 */
export function findRepeats(bytes: Buffer, json: JsonObject, single: Single): Patch[] {
  return mayRepeat(bytes, json, single) ? repeatsIn(bytes, startOf(bytes), single) : []
}

function mayRepeat(bytes: Buffer, json: JsonObject, single: Single): boolean {
  const names = namesIn(json, single)
  return names.some(name => !isOnce(bytes, name)) || mayBeEscaped(bytes, names.join(''))
}

function namesIn(object: JsonObject, single: Single): string[] {
  return Object.keys(object).flatMap(name => {
    if (!single.names.has(name)) return []
    const value = object[name]
    return single.holders.has(name) && isJsonObject(value) ? [name, ...namesIn(value, held(single))] : name
  })
}

/** One step in, however often a holder stands in a holder. */
function held({ names }: Single): Single {
  return { names, holders: NONE }
}

function isOnce(bytes: Buffer, name: string): boolean {
  const needle = needleOf(name)
  return bytes.indexOf(needle, bytes.indexOf(needle) + 1) < 0
}

/** Takes out what another one of the same name comes behind: neighbours in one go, as there may be a million. */
function repeatsIn(bytes: Buffer, open: number, single: Single): Patch[] {
  const last = new Map<string, number>()
  for (const { key, at } of membersOf(bytes, open)) if (single.names.has(key)) last.set(key, at)
  const patches: Patch[] = []
  let taken: number | undefined
  for (const { key, at, start } of membersOf(bytes, open)) {
    if ((last.get(key) ?? at) > at) {
      taken ??= at
      continue
    }
    if (taken !== undefined) patches.push({ start: taken, end: at, text: '' })
    taken = undefined
    if (!single.holders.has(key) || bytes[start] !== OPEN_BRACE) continue
    for (const patch of repeatsIn(bytes, start, held(single))) patches.push(patch)
  }
  return patches
}
