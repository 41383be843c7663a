import type { Step } from './script.ts'

/** Holds the steps of every call back until the one before it has ended, for writers that cannot interleave. */
export function* oneCallAtATime(steps: Iterable<Step>): Generator<Step> {
  let open: number | undefined
  const held = new Map<number, Step[]>()
  for (const step of steps) {
    if (step.type !== 'call-start' && step.type !== 'call-input' && step.type !== 'call-end') {
      for (const later of held.values()) yield* later
      held.clear()
      yield step
      continue
    }
    open ??= step.call
    if (step.call !== open) {
      held.set(step.call, [...(held.get(step.call) ?? []), step])
      continue
    }
    yield step
    if (step.type === 'call-end') open = undefined
  }
}
