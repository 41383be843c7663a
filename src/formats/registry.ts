import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import { geminiGenerateContent } from '@/formats/gemini-generate-content/codec.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import type { Format } from '@/generation/format.ts'
import type { Codec } from './codec.ts'

/** Every wire format. A new one is a folder beside these and a line here. */
export const CODECS: Record<Format, Codec> = {
  'openai-chat-completions': openaiChatCompletions,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  'gemini-generate-content': geminiGenerateContent,
}
