import type { EventOf } from '@/generation/event.ts'
import type { CountNames, Usage } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * What a stream tells of its usage that tells it again and again: the last is that of the whole answer. Where the last
 * counts what cannot be, the one before it is of a part of the answer alone.
 * @param usage what was read of it; undefined: it is no report
 * @param before what was told last
 */
export function cumulativeUsage(
  wire: JsonObject | undefined,
  usage: Usage | undefined,
  before: Usage | undefined,
  { input, output }: CountNames,
): EventOf<'usage'> | undefined {
  if (usage !== undefined) return { type: 'usage', usage }
  if (wire === undefined || before === undefined) return undefined
  const counts = [...input, ...output].some(name => (wire[name] ?? null) !== null)
  return counts ? { type: 'usage', usage: before, soFar: true } : undefined
}
