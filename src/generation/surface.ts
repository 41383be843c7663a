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

export type Surface = (typeof SURFACES)[number]

/** The surfaces that converse. */
export type ConversationSurface = 'chat' | 'responses' | 'messages' | 'gemini'

/** The wire format that callers of a surface write and read. */
export const SURFACE_FORMAT: Record<ConversationSurface, Format> = {
  chat: 'openai-chat-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'gemini-generate-content',
}
