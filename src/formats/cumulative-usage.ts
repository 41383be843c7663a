import type { EventOf } from '@/generation/event.ts'
import type { CountNames, Usage } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * The usage event for a report of a stream that reports again and again, each time of the answer so far: the last is that of
 * the whole. Where a report holds counts that cannot be, the one before it stands, and is of a part of the answer alone.
 * @param wire the report as it came
 * @param usage what was read of it; undefined: nothing
 * @param before what was read of the report before it
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
