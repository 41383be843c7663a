import { asArray, asNumber, parseJson } from '@/json/json.ts'

/** A step of a call to the limit script. */
export interface SaidStep {
  operation: string
  keys: string[]
  /** All else that it says, in its order. */
  words: unknown[]
}

/** What a call says, as token-bucket.lua reads it. */
export function saidSteps(keys: readonly string[], args: readonly unknown[]): SaidStep[] {
  return asArray(parseJson(String(args.at(-1)))).map(step => {
    const [operation, ...words] = asArray(step)
    const isKey = KEY_PLACES[String(operation)]
    if (isKey === undefined) throw new Error(`the script knows no ${operation}`)
    const places = words.filter((_, at) => isKey(at, words))
    return {
      operation: String(operation),
      keys: places.map(place => keys[(asNumber(place) ?? 0) - 1] ?? `no key ${place}`),
      words: words.filter((_, at) => !isKey(at, words)),
    }
  })
}

/** Which words of a step are places of keys; the operation itself does not count. */
const KEY_PLACES: Record<string, (at: number, words: readonly unknown[]) => boolean> = {
  take(at, [, buckets]) {
    const leases = 2 + 3 * Number(buckets)
    return at >= leases ? (at - leases) % 2 === 0 : at >= 2 && (at - 2) % 3 === 0
  },
  adjust: at => at === 0 || at % 2 === 1,
  finish(at, [, , buckets]) {
    const leases = 3 + 2 * Number(buckets)
    return at === 1 || at >= leases || (at >= 3 && (at - 3) % 2 === 0)
  },
  catch_up: at => at === 0 || (at >= 2 && (at - 2) % 3 === 0),
  renew: at => at === 0,
  release: at => at >= 1,
}
