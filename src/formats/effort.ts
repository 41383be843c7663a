import { EFFORTS, type Effort, type Reasoning } from '@/generation/request.ts'

/** The effort that is asked for: the stated one, or what a stated budget amounts to; undefined is the model's own choice. */
export function wantedEffort({ effort, budgetTokens = -1 }: Reasoning): Effort | undefined {
  if (effort !== undefined || budgetTokens < 0) return effort
  if (budgetTokens === 0) return 'none'
  if (budgetTokens < 1024) return 'minimal'
  if (budgetTokens <= 4096) return 'low'
  if (budgetTokens <= 12_288) return 'medium'
  return budgetTokens <= 24_576 ? 'high' : 'xhigh'
}

/**
 * The strongest effort that a model takes and that is not above the wanted one; its weakest when all are above. A wish to
 * think never becomes `none`, unless it is for `minimal` thought.
 */
export function nearestEffort(wanted: Effort, taken: readonly Effort[]): Effort {
  const limit = EFFORTS.indexOf(wanted)
  const thinks = limit >= EFFORTS.indexOf('low')
  const efforts = thinks ? taken.filter(effort => effort !== 'none') : taken
  return efforts.findLast(effort => EFFORTS.indexOf(effort) <= limit) ?? efforts[0] ?? wanted
}

/** Whether a model that is not to think is told to think all the same; `minimal` counts as not thinking. */
export function thinksAnyway(wanted: Effort | undefined, told: Effort | undefined): boolean {
  return wanted === 'none' && told !== undefined && !isUnthought(told)
}

/** Whether an effort counts as not thinking. */
export function isUnthought(effort: Effort): boolean {
  return effort === 'none' || effort === 'minimal'
}
