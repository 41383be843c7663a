import { thinksAnyway, wantedEffort } from '@/formats/effort.ts'
import { fitLimit } from '@/formats/fitted-values.ts'
import {
  EFFORT_BUDGET,
  levelEffort,
  levelFor,
  type ModelTraits,
  type ThinkingLevel,
} from '@/formats/gemini-generate-content/models.ts'
import type { WireGenerationConfig } from '@/formats/gemini-generate-content/wire.ts'
import { unsayable } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { describedSchema } from '@/formats/schemas/output-format.ts'
import {
  type GenerationRequest,
  limitsEffort,
  type OutputFormat,
  type Reasoning,
} from '@/generation/request.ts'
import { present } from '@/json/json.ts'
import { answerJsonSchema, lowerSchema } from './schema.ts'

/** Most stop sequences of a request. */
const MAX_STOPS = 5

/** The fields of a request that stand in `generationConfig`. */
export type ConfigFields = Pick<
  GenerationRequest,
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'stop'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'logprobs'
  | 'candidates'
  | 'modalities'
  | 'reasoning'
>

/** @throws GatewayError `unsupported_parameter` for more stop sequences than the API takes */
export function encodeConfig(
  fields: ConfigFields,
  output: OutputFormat | undefined,
  limits: { traits: ModelTraits; maxOutputTokens: number | undefined; maxCandidates: number },
  losses: Losses,
): WireGenerationConfig {
  const { traits } = limits
  if (fields.stop.length > MAX_STOPS)
    throw unsayable('stop', `takes at most ${MAX_STOPS} sequences with this model`)
  const max = fields.maxOutputTokens
  return present({
    temperature: fields.temperature,
    topP: fields.topP,
    topK: fields.topK,
    candidateCount: candidateCount(fields.candidates, limits.maxCandidates),
    maxOutputTokens: max === undefined ? undefined : fitLimit(max, 1, limits.maxOutputTokens, losses),
    stopSequences: fields.stop.length === 0 ? undefined : [...fields.stop],
    seed: seed(fields.seed, losses),
    presencePenalty: fields.presencePenalty,
    frequencyPenalty: fields.frequencyPenalty,
    responseLogprobs: fields.logprobs === undefined ? undefined : true,
    logprobs: fields.logprobs?.top,
    responseModalities:
      fields.modalities.length === 0 ? undefined : fields.modalities.map(name => name.toUpperCase()),
    thinkingConfig: encodeThinking(fields.reasoning, traits, losses),
    ...outputKeywords(output, traits),
  })
}

function candidateCount(candidates: number | undefined, most: number): number | undefined {
  if (candidates === undefined || candidates === 1) return undefined
  if (candidates > most) throw unsayable('candidates', `must be at most ${most} with this model`)
  return candidates
}

/** The vendor's seed is a signed 32-bit number. */
function seed(value: number | undefined, losses: Losses): number | undefined {
  if (value === undefined || value === (value | 0)) return value
  losses.add('seed')
  return undefined
}

function outputKeywords(output: OutputFormat | undefined, traits: ModelTraits): WireGenerationConfig {
  if (output === undefined || output.type === 'text') return {}
  const responseMimeType = 'application/json'
  if (output.type === 'json') return { responseMimeType }
  const schema = describedSchema(output)
  const plain = traits.jsonSchema ? answerJsonSchema(schema) : undefined
  return plain === undefined
    ? { responseMimeType, responseSchema: lowerSchema(schema) }
    : { responseMimeType, responseJsonSchema: plain }
}

function encodeThinking(reasoning: Reasoning | undefined, traits: ModelTraits, losses: Losses) {
  if (reasoning === undefined) return undefined
  const { effort, budgetTokens, summary } = reasoning
  const { thinking } = traits
  if (thinking.type === 'none') {
    const wanted = (effort !== undefined && effort !== 'none') || (budgetTokens ?? 0) !== 0
    if (wanted) losses.add('reasoning')
    return undefined
  }
  if (limitsEffort(reasoning)) losses.add(thinking.type === 'budget' ? 'reasoningEffort' : 'reasoningBudget')
  const amount =
    thinking.type === 'budget'
      ? { thinkingBudget: thinkingBudget(reasoning, thinking, losses) }
      : { thinkingLevel: thinkingLevel(reasoning, thinking.levels, losses) }
  const shown = summary !== undefined && summary !== 'none' && effort !== 'none' && budgetTokens !== 0
  const config = present({ ...amount, includeThoughts: shown ? true : undefined })
  return Object.keys(config).length === 0 ? undefined : config
}

function thinkingBudget(
  { effort, budgetTokens }: Reasoning,
  range: { min: number; max: number; canDisable: boolean },
  losses: Losses,
): number | undefined {
  // Who says how hard, and leaves the number to the model, has said a number.
  const isOpen = (budgetTokens ?? -1) < 0
  const wanted = isOpen && effort !== undefined ? EFFORT_BUDGET[effort] : budgetTokens
  if (wanted === undefined || wanted < 0) return wanted === undefined ? undefined : -1
  if (wanted === 0 && range.canDisable) return 0
  if (wanted === 0) losses.add('reasoning')
  return Math.min(Math.max(wanted, range.min), range.max)
}

function thinkingLevel(reasoning: Reasoning, levels: readonly ThinkingLevel[], losses: Losses) {
  const wanted = wantedEffort(reasoning)
  const level = wanted === undefined ? undefined : levelFor(wanted, levels)
  if (thinksAnyway(wanted, levelEffort(level ?? ''))) losses.add('reasoning')
  return level
}
