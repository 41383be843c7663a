import { type ModelTraits, modelTraits } from '@/formats/anthropic-messages/models.ts'
import type { OutputWish, Target } from '@/formats/codec.ts'
import { nearestEffort, wantedEffort } from '@/formats/effort.ts'
import { fitLimit } from '@/formats/fitted-values.ts'
import { Losses } from '@/formats/losses.ts'
import { type Effort, type GenerationRequest, limitsEffort, type Reasoning } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'

/** The API's smallest budget. */
const MIN_BUDGET = 1024

/** `max_tokens` for a model of which nobody knows the limit, when the caller names none either. */
const UNKNOWN_MAX_TOKENS = 8192

/** Thinking, its price in tokens, and the sampling parameters that depend on it. */
interface EncodedThinking {
  maxTokens: number
  thinking: JsonObject | undefined
  effort: Effort | undefined
  /** Whether the answer will think. */
  on: boolean
}

/** What else decides whether the model may think. */
interface ThinkingConditions {
  /** A forced tool call: the API refuses it together with thinking, and the caller relies on the call. */
  forced: boolean
  /** The model's thought before calls is missing, be it before those whose results wait for it: budget thinking is refused. */
  thoughtMissing: boolean
}

/** What the model can do of what the caller wishes; the rest is a loss. */
export function encodeThinking(
  request: OutputWish,
  target: Target,
  model: ModelTraits,
  conditions: ThinkingConditions,
  losses: Losses,
): EncodedThinking {
  const limit = target.maxOutputTokens ?? model.maxOutputTokens
  const maxTokens = maxTokensOf(request.maxOutputTokens, limit, losses)
  const wish = wishOf(request.reasoning)
  if (wish === 'on' && blocked(model, conditions)) {
    losses.add('reasoning')
    return { maxTokens, ...off(model, losses) }
  }
  if (wish === 'off' || conditions.forced) return { maxTokens, ...off(model, losses, wish !== 'off') }
  if (model.needsThoughts && conditions.thoughtMissing) return { maxTokens, ...off(model, losses) }
  // max_tokens 0 warms the cache: no answer, no thought, and no budget that could be below it.
  if (wish === 'silent' || request.reasoning === undefined || maxTokens === 0) {
    return { maxTokens, thinking: undefined, effort: undefined, on: model.thinksByDefault }
  }
  const isAdaptive = model.thinking === 'adaptive'
  if (limitsEffort(request.reasoning)) losses.add(isAdaptive ? 'reasoningBudget' : 'reasoningEffort')
  return isAdaptive
    ? { maxTokens, ...adaptive(request.reasoning, model) }
    : budgeted(request.reasoning, maxTokens, limit, losses)
}

/** The most that a request is given: with all the thought that it wishes for. */
export function mostOutput(wish: OutputWish, target: Target): number {
  const free = { forced: false, thoughtMissing: false }
  return encodeThinking(wish, target, modelTraits(target), free, new Losses()).maxTokens
}

function maxTokensOf(asked: number | undefined, limit: number | undefined, losses: Losses): number {
  return asked === undefined ? (limit ?? UNKNOWN_MAX_TOKENS) : fitLimit(asked, 0, limit, losses)
}

/** Whether the caller wants thought; `silent` where it leaves that to the model. */
function wishOf(reasoning: Reasoning | undefined): 'on' | 'off' | 'silent' {
  if (reasoning === undefined) return 'silent'
  const { effort, budgetTokens, summary } = reasoning
  if (effort === 'none' || budgetTokens === 0) return 'off'
  if (effort !== undefined || budgetTokens !== undefined) return 'on'
  return summary === undefined || summary === 'none' ? 'silent' : 'on'
}

function blocked(model: ModelTraits, conditions: ThinkingConditions): boolean {
  if (model.thinking === 'none' || conditions.forced) return true
  return conditions.thoughtMissing && model.thinking === 'budget'
}

/** No thinking, as far as the model can be told so. */
function off(model: ModelTraits, losses: Losses, unasked = false): Omit<EncodedThinking, 'maxTokens'> {
  const silent = { thinking: undefined, effort: undefined, on: false }
  const thinks = model.thinksByDefault || model.needsThoughts
  if (model.thinking === 'none' || (unasked && !thinks)) return silent
  if (model.thinkingOff !== 'never') return { ...silent, thinking: { type: model.thinkingOff } }
  losses.add('reasoning')
  return { thinking: undefined, effort: model.efforts[0], on: true }
}

function adaptive(reasoning: Reasoning, model: ModelTraits): Omit<EncodedThinking, 'maxTokens'> {
  const wanted = wantedEffort(reasoning)
  return {
    thinking: { type: 'adaptive', ...display(reasoning.summary) },
    effort: wanted === undefined ? undefined : nearestEffort(wanted, model.efforts),
    on: true,
  }
}

function display(summary: Reasoning['summary']): JsonObject {
  if (summary === undefined) return {}
  return { display: summary === 'none' ? 'omitted' : 'summarized' }
}

function budgeted(
  reasoning: Reasoning,
  maxTokens: number,
  limit: number | undefined,
  losses: Losses,
): EncodedThinking {
  const { effort = 'medium', budgetTokens = -1 } = reasoning
  const wanted = Math.max(MIN_BUDGET, budgetTokens > 0 ? budgetTokens : budgetOfEffort(effort, limit))
  const fitted = fitBudget(wanted, maxTokens, limit)
  if (fitted === undefined) {
    losses.add('reasoning')
    return { maxTokens, thinking: undefined, effort: undefined, on: false }
  }
  const shown = reasoning.summary === 'none' ? { display: 'omitted' } : {}
  const thinking = { type: 'enabled', budget_tokens: fitted.budget, ...shown }
  return { maxTokens: fitted.maxTokens, thinking, effort: undefined, on: true }
}

/**
 * A budget below `max_tokens`. Where the caller's limit leaves no room it was meant for the visible text, so the
 * budget is added to it; where the model's limit leaves no room, thinking gets three quarters.
 */
function fitBudget(
  wanted: number,
  maxTokens: number,
  limit: number | undefined,
): { budget: number; maxTokens: number } | undefined {
  if (wanted < maxTokens) return { budget: wanted, maxTokens }
  const raised = Math.max(maxTokens, Math.min(maxTokens + wanted, limit ?? Number.POSITIVE_INFINITY))
  const room = Math.max(raised - maxTokens, Math.floor((raised * 3) / 4), MIN_BUDGET)
  const budget = Math.min(wanted, room)
  return budget < raised ? { budget, maxTokens: raised } : undefined
}

function budgetOfEffort(effort: Effort, limit: number | undefined): number {
  switch (effort) {
    case 'none':
    case 'minimal':
    case 'low':
      return MIN_BUDGET
    case 'medium':
      return 8192
    case 'high':
      return 16_384
    case 'xhigh':
      return 32_768
    case 'max':
      return limit ?? 65_536
    default:
      return effort satisfies never
  }
}

/** `temperature`, `top_p` and `top_k`, as far as the model takes them beside this thinking. */
export function encodeSampling(
  request: GenerationRequest,
  thinking: boolean,
  model: ModelTraits,
  losses: Losses,
): JsonObject {
  const { temperature, topP, topK } = request
  const sampling: JsonObject = {}
  const takesAny = model.sampling !== 'none'
  const isFree = takesAny && !thinking
  if (temperature !== undefined) {
    // While thinking, only 1 is accepted, which is also the default.
    const said = isFree ? Math.min(1, Math.max(0, temperature)) : 1
    if (isFree) sampling['temperature'] = said
    if (said !== temperature) losses.add('temperature')
  }
  if (topP !== undefined) {
    const alone = model.sampling === 'all' || sampling['temperature'] === undefined
    if (takesAny && alone && (!thinking || topP >= 0.95)) sampling['top_p'] = topP
    else if (topP !== 1) losses.add('topP')
  }
  if (topK !== undefined) {
    if (isFree) sampling['top_k'] = topK
    else losses.add('topK')
  }
  return sampling
}
