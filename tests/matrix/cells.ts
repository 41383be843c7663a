import { Cell, type Feature } from './cell.ts'
import { FAILURE_FEATURES } from './features-failure.ts'
import { OPERATION_FEATURES } from './features-operations.ts'
import { TEXT_FEATURES } from './features-text.ts'
import { THINKING_FEATURES } from './features-thinking.ts'
import { TOOL_FEATURES } from './features-tools.ts'
import type { Rig } from './rig.ts'
import { type Mode, SIDES, type Side } from './talk.ts'

export const FEATURES: readonly Feature[] = [
  ...TEXT_FEATURES,
  ...TOOL_FEATURES,
  ...THINKING_FEATURES,
  ...FAILURE_FEATURES,
  ...OPERATION_FEATURES,
]

export const MODES: readonly Mode[] = ['whole', 'streamed']

/** Who calls, and which format serves. */
export interface Pair {
  caller: Side
  upstream: Side
}

export const PAIRS: readonly Pair[] = SIDES.flatMap(caller => SIDES.map(upstream => ({ caller, upstream })))

/** Whether this feature can be said at all between these two. */
export function isForeign(feature: Feature, { caller, upstream }: Pair, mode: Mode): boolean {
  return feature.isForeign?.(caller, upstream, mode) ?? false
}

/** Runs one square; throws when it fails. */
export async function runCell(rig: Rig, feature: Feature, pair: Pair, mode: Mode): Promise<void> {
  rig.forget()
  await feature.run(new Cell(rig, pair.caller, pair.upstream, mode))
}
