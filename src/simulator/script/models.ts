import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { MODEL_NAMES } from './steering.ts'

const CREATED_SECONDS = 1_735_689_600

/** The model list in the vendor's shape. */
export function modelList(format: Format): JsonObject {
  const models = MODEL_NAMES.map(name => modelEntry(format, name))
  if (format === 'gemini-generate-content') return { models }
  if (format !== 'anthropic-messages') return { object: 'list', data: models }
  return { data: models, has_more: false, first_id: MODEL_NAMES[0], last_id: MODEL_NAMES.at(-1) ?? null }
}

/** One model in the vendor's shape. */
export function modelEntry(format: Format, name: string): JsonObject {
  switch (format) {
    case 'gemini-generate-content':
      return {
        name: `models/${name}`,
        version: '1',
        displayName: `Simulator ${name}`,
        description: 'A model of the simulator.',
        inputTokenLimit: 1_048_576,
        outputTokenLimit: 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
        thinking: name.includes('reason'),
      }
    case 'anthropic-messages':
      return {
        type: 'model',
        id: name,
        display_name: `Simulator ${name}`,
        created_at: new Date(CREATED_SECONDS * 1000).toISOString(),
        max_input_tokens: 1_000_000,
        max_tokens: 64_000,
      }
    default:
      return { id: name, object: 'model', created: CREATED_SECONDS, owned_by: 'simulator' }
  }
}
