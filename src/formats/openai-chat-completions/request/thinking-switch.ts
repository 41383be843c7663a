import { asObject, asWord, type JsonObject } from '@/json/json.ts'

/** Whether to think, or to leave that to the model. */
const WORDS = ['enabled', 'disabled', 'auto', 'adaptive'] as const

/** What `thinking` says. */
interface ThinkingSwitch {
  word: (typeof WORDS)[number]
  fields: JsonObject
}

/**
 * The `thinking` of Kimi, GLM, DeepSeek and Doubao, in which LiteLLM has a budget. Undefined where its word is not known,
 * and beside OpenRouter's `reasoning`, which says the same.
 */
export function thinkingSwitch(body: JsonObject): ThinkingSwitch | undefined {
  const fields = asObject(body['thinking'])
  const word = asWord(WORDS, fields?.['type'])
  const isFree = asObject(body['reasoning']) === undefined
  return fields !== undefined && word !== undefined && isFree ? { word, fields } : undefined
}
