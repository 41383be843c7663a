import type { Format } from '@/generation/format.ts'
import { anthropicMessages } from './anthropic-messages/codec.ts'
import type { Codec } from './codec.ts'
import { geminiGenerateContent } from './gemini-generate-content/codec.ts'
import { openaiChatCompletions } from './openai-chat-completions/codec.ts'
import { openaiResponses } from './openai-responses/codec.ts'

/** Every wire format. A new one is a folder beside these and a line here. */
export const CODECS: Record<Format, Codec> = {
  'openai-chat-completions': openaiChatCompletions,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  'gemini-generate-content': geminiGenerateContent,
}
