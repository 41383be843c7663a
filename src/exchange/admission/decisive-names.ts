import type { Single } from '@/json/repeats.ts'

/** What decides who is asked, and what that may cost, in the bodies that name their model. */
export const DECISIVE: ReadonlySet<string> = new Set([
  ...['model', 'models', 'fallbacks', 'tools', 'service_tier', 'speed', 'stream'],
  ...['messages', 'input', 'prompt', 'n', 'size', 'quality', 'seconds'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
])

/** The same of a prompt's other parts, and of Gemini's fields, which have two spellings each. */
const DECISIVE_ELSEWHERE = [
  ...['system', 'instructions', 'systemInstruction', 'system_instruction'],
  ...['functions', 'prediction', 'contents', 'instances', 'requests', 'serviceTier'],
  ...['maxOutputTokens', 'candidateCount', 'candidate_count', 'numberOfVideos', 'number_of_videos'],
  ...['sampleCount', 'sample_count', 'durationSeconds', 'duration_seconds'],
]

const GEMINI_SETTINGS = ['generationConfig', 'generation_config', 'parameters']

/**
 * What a body may say once, so that an upstream reads what was reckoned with. The model is missing, since it is written
 * anew wherever it stands (formats/model-edit.ts).
 */
export const SINGLE: Single = {
  names: new Set([...DECISIVE, ...DECISIVE_ELSEWHERE, ...GEMINI_SETTINGS].filter(name => name !== 'model')),
  holders: new Set(GEMINI_SETTINGS),
}
