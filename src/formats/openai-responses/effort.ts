import { EFFORTS, type Effort, type Reasoning } from '@/generation/request.ts'

/**
 * The effort to ask for: the stated one, or what a stated budget amounts to, held to what the model takes.
 */
export function effortOf(reasoning: Reasoning, allowed: readonly Effort[] | undefined): Effort | undefined {
  const wanted = reasoning.effort ?? effortOfBudget(reasoning.budgetTokens)
  return wanted === undefined || allowed === undefined ? wanted : nearest(wanted, allowed)
}

/** -1 is a budget of the model's own choice: its default effort. */
function effortOfBudget(tokens: number | undefined): Effort | undefined {
  if (tokens === undefined || tokens < 0) return undefined
  if (tokens === 0) return 'none'
  if (tokens < 1024) return 'minimal'
  if (tokens <= 4096) return 'low'
  if (tokens <= 12288) return 'medium'
  return tokens <= 24576 ? 'high' : 'xhigh'
}

/** The strongest allowed effort that is not above the wanted one. Some thought never becomes none. */
function nearest(wanted: Effort, allowed: readonly Effort[]): Effort | undefined {
  if (allowed.includes(wanted)) return wanted
  const thinking = allowed.filter(effort => effort !== 'none')
  const limit = EFFORTS.indexOf(wanted)
  return thinking.findLast(effort => EFFORTS.indexOf(effort) <= limit) ?? thinking[0]
}
