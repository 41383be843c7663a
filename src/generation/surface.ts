import { FORMATS, type Format } from './format.ts'

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

const OPENAI_FORMATS = ['openai-chat-completions', 'openai-responses'] as const
const MEDIA_FORMATS = [...OPENAI_FORMATS, 'gemini-generate-content'] as const

/** The formats whose channels can serve a surface at all; a conversation is written for every one. */
export const SERVED_BY: Readonly<Record<Surface, readonly Format[]>> = {
  chat: FORMATS,
  responses: FORMATS,
  messages: FORMATS,
  gemini: FORMATS,
  embeddings: MEDIA_FORMATS,
  images: MEDIA_FORMATS,
  videos: MEDIA_FORMATS,
  audio: OPENAI_FORMATS,
}
