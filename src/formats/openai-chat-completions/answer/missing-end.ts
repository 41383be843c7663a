import type { JsonObject } from '@/json/json.ts'

/** A choice that never said why it ended. */
export interface SilentChoice {
  index: number
  hasCalls: boolean
}

/** What constant fields the chunks of a stream have. */
export interface ChunkHead {
  id: string | undefined
  created: number | undefined
  model: string | undefined
}

/**
 * The end of a stream that left a part of it out: clients (opencode) ask again and again for an answer without a finish
 * reason, and read on after the last chunk until `[DONE]`.
 */
export function encodeMissingEnd({ id, created, model }: ChunkHead, silent: readonly SilentChoice[]): string {
  const chunks = silent.map(({ index, hasCalls }) => {
    const choice = { index, delta: {}, logprobs: null, finish_reason: hasCalls ? 'tool_calls' : 'stop' }
    const chunk: JsonObject = { id, object: 'chat.completion.chunk', created, model, choices: [choice] }
    return `data: ${JSON.stringify(chunk)}\n\n`
  })
  return `${chunks.join('')}data: [DONE]\n\n`
}
