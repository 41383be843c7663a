import type { Format } from './format.ts'

/** What clients call. The first four converse; each of those has a wire format of its own. */
export const SURFACES = [
  'chat',
  'responses',
  'messages',
  'gemini',
  'embeddings',
  'images',
  'videos',
  'audio',
] as const

/** What a client called; in logs, metrics and a model's `surfaces` under this name. */
export type Surface = (typeof SURFACES)[number]

/** The surfaces that converse. */
export type ConversationSurface = 'chat' | 'responses' | 'messages' | 'gemini'

/**
 * The wire format that callers of a surface write and read. The surfaces that do not converse are OpenAI's; what they
 * share with its conversations is the shape of errors and the framing of streams.
 */
export const SURFACE_FORMAT = {
  chat: 'openai-chat-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'gemini-generate-content',
  embeddings: 'openai-chat-completions',
  images: 'openai-chat-completions',
  videos: 'openai-chat-completions',
  audio: 'openai-chat-completions',
} as const satisfies Record<Surface, Format>
