import type { PlaygroundSurface } from './answer-text.ts'

/** What somebody asks in the playground. */
interface Prompt {
  model: string
  system: string
  message: string
  maxTokens: number | undefined
}

/** The streamed request that a surface wants for a prompt. Gemini's names its model in the path. */
export function requestBody(surface: PlaygroundSurface, prompt: Prompt): Record<string, unknown> {
  return BODIES[surface](prompt)
}

const BODIES: Record<PlaygroundSurface, (prompt: Prompt) => Record<string, unknown>> = {
  chat: ({ model, system, message, maxTokens }) => ({
    model,
    stream: true,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: message },
    ],
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
  }),
  responses: ({ model, system, message, maxTokens }) => ({
    model,
    stream: true,
    ...(system === '' ? {} : { instructions: system }),
    input: message,
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
  }),
  messages: ({ model, system, message, maxTokens }) => ({
    model,
    stream: true,
    ...(system === '' ? {} : { system }),
    messages: [{ role: 'user', content: message }],
    max_tokens: maxTokens ?? 1024,
  }),
  gemini: ({ system, message, maxTokens }) => ({
    ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    contents: [{ role: 'user', parts: [{ text: message }] }],
    ...(maxTokens === undefined ? {} : { generationConfig: { maxOutputTokens: maxTokens } }),
  }),
}
