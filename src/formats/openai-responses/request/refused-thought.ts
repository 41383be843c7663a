import type { Target } from '@/formats/codec.ts'
import { DEEPSEEK } from '@/formats/deepseek.ts'
import { isUnthought, wantedEffort } from '@/formats/effort.ts'
import type { Losses } from '@/formats/losses.ts'
import { vendorHost } from '@/formats/openai/vendor.ts'
import type { Part } from '@/generation/part.ts'
import type { GenerationRequest, Reasoning, Turn } from '@/generation/request.ts'

const UNTHINKING: Reasoning = { effort: 'none', budgetTokens: undefined, summary: undefined }

/**
 * DeepSeek thinks unasked, and refuses a call that is forced then, and to go on after calls whose thought is missing: it is
 * told not to think. https://api-docs.deepseek.com/guides/thinking_mode https://github.com/rikkahub/rikkahub/issues/1629
 */
export function withoutRefusedThought(
  request: GenerationRequest,
  { vendor }: Target,
  losses: Losses,
): GenerationRequest {
  if (!DEEPSEEK.test(vendorHost(vendor)) || !(isForced(request) || lacksThought(request.turns)))
    return request
  const wanted = request.reasoning && wantedEffort(request.reasoning)
  if (wanted !== undefined && !isUnthought(wanted)) losses.add('reasoning')
  return { ...request, reasoning: UNTHINKING }
}

function isForced({ tools, toolChoice: choice }: GenerationRequest): boolean {
  const force = choice?.type === 'allowed' ? choice.mode : choice?.type
  return tools.length > 0 && (force === 'required' || force === 'tool')
}

/** Whether the assistant called something since the user spoke, and did not think before it. */
function lacksThought(turns: readonly Turn[]): boolean {
  let isThought = false
  for (const { role, parts } of turns.slice(turns.findLastIndex(isSpoken) + 1)) {
    isThought = role === 'assistant' && (isThought || parts.some(isTold))
    if (!isThought && parts.some(({ type }) => type === 'tool-call')) return true
  }
  return false
}

function isSpoken({ role, parts }: Turn): boolean {
  return role === 'user' && parts.some(({ type }) => type !== 'tool-result')
}

function isTold(part: Part): boolean {
  return part.type === 'reasoning' && part.texts.some(text => text !== '')
}
