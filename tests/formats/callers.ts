import { TARGETS } from '#tests/transcripts/conversion.ts'
import type { Target } from '@/formats/codec.ts'
import type { Format } from '@/generation/format.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

/** Whose callers ask to see thoughts, and how they send an answer back with the results of its calls. */
export const CALLERS: Record<Format, { first: JsonObject; second: (answer: JsonObject) => JsonObject }> = {
  'openai-chat-completions': {
    first: { messages: [{ role: 'user', content: 'q' }], reasoning_effort: 'medium' },
    second: ({ choices }) => {
      const message = asObject(asObject(asArray(choices)[0])?.['message']) ?? {}
      const results = asArray(message['tool_calls']).map(call => ({
        role: 'tool',
        tool_call_id: asObject(call)?.['id'] ?? null,
        content: 'done',
      }))
      return { messages: [{ role: 'user', content: 'q' }, message, ...results], reasoning_effort: 'medium' }
    },
  },
  'openai-responses': {
    first: { input: 'q', reasoning: { effort: 'medium', summary: 'auto' } },
    second: ({ output }) => {
      const items = asArray(output)
      const results = items.flatMap(item => {
        const { type, call_id } = asObject(item) ?? {}
        return type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'done' }] : []
      })
      const reasoning = { effort: 'medium', summary: 'auto' }
      return { input: [{ role: 'user', content: 'q' }, ...items, ...results], reasoning }
    },
  },
  'anthropic-messages': {
    first: {
      max_tokens: 9000,
      messages: [{ role: 'user', content: 'q' }],
      thinking: { type: 'enabled', budget_tokens: 2000 },
    },
    second: ({ content }) => {
      const results = asArray(content).flatMap(block => {
        const { type, id } = asObject(block) ?? {}
        return type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'done' }] : []
      })
      return {
        max_tokens: 9000,
        messages: [
          { role: 'user', content: 'q' },
          { role: 'assistant', content: asArray(content) },
          { role: 'user', content: results },
        ],
        thinking: { type: 'enabled', budget_tokens: 2000 },
      }
    },
  },
  'gemini-generate-content': {
    first: {
      contents: [{ parts: [{ text: 'q' }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 } },
    },
    second: ({ candidates }) => {
      const content = asObject(asObject(asArray(candidates)[0])?.['content']) ?? {}
      const results = asArray(content['parts']).flatMap(part => {
        const call = asObject(asObject(part)?.['functionCall'])
        if (call === undefined) return []
        return [{ functionResponse: { id: call['id'], name: 'f', response: { result: 'done' } } }]
      })
      return {
        contents: [{ parts: [{ text: 'q' }] }, content, { parts: results }],
        generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 } },
      }
    },
  },
}

/** The vendors that have such answers. */
export const UPSTREAMS: Record<Format, Target> = {
  ...TARGETS,
  'openai-chat-completions': { model: 'x', vendor: 'openrouter.ai', maxOutputTokens: undefined },
  'gemini-generate-content': { ...TARGETS['gemini-generate-content'], model: 'gemini-3-pro-preview' },
}
