import { wantedEffort } from '@/formats/effort.ts'
import type { PlainlyChosen } from '@/formats/tools/allowed.ts'
import type { GenerationRequest, Reasoning } from '@/generation/request.ts'
import type { TargetRules } from './target-rules.ts'

type Chosen = GenerationRequest & PlainlyChosen

const UNTHINKING: Reasoning = { effort: 'none', budgetTokens: undefined, summary: undefined }

/**
 * A call that is forced, as the model can be made to make it: the one tool that is named as some tool where there is no
 * other, and without thought where it is refused beside thought. Callers rely on the call more than on the thought. One
 * that cannot be forced is left to the model, and a model that cannot be told to make none is offered no tool.
 */
export function takenForce(request: Chosen, rules: TargetRules): Chosen {
  const { type } = request.toolChoice ?? {}
  const { forces, takesNone, thinksWhenForced } = rules.served
  if (type === 'none' && !takesNone) return { ...request, tools: [], toolChoice: undefined }
  if (type !== 'required' && type !== 'tool') return request
  const forced = forces.includes(type) ? request : otherwiseForced(request, forces)
  if (forced === undefined) {
    rules.losses.add('toolChoice')
    return { ...request, toolChoice: { type: 'auto' } }
  }
  if (thinksWhenForced) return forced
  const wanted = request.reasoning && wantedEffort(request.reasoning)
  if (wanted !== undefined && wanted !== 'none') rules.losses.add('reasoning')
  return { ...forced, reasoning: UNTHINKING }
}

/** The same force by the other word for it; undefined where there is none. */
function otherwiseForced(request: Chosen, forces: TargetRules['served']['forces']): Chosen | undefined {
  const { tools, toolChoice } = request
  if (toolChoice?.type === 'tool' && forces.includes('required')) {
    const named = tools.filter(tool => tool.type === 'function' && tool.name === toolChoice.name)
    return named.length === 0 ? undefined : { ...request, tools: named, toolChoice: { type: 'required' } }
  }
  const [only, ...others] = tools
  if (toolChoice?.type !== 'required' || !forces.includes('tool')) return undefined
  if (only?.type !== 'function' || others.length > 0) return undefined
  return {
    ...request,
    toolChoice: { type: 'tool', name: only.name, namespace: undefined, kind: 'function' },
  }
}
