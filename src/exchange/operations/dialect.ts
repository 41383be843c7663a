import type { Format } from '@/generation/format.ts'

/**
 * Whose operations an upstream of a format has: OpenAI's two formats stand on one API with the same paths beside the
 * conversation. Undefined where there are none.
 */
export function dialectOf(format: Format): 'openai' | 'gemini' | undefined {
  switch (format) {
    case 'openai-chat-completions':
    case 'openai-responses':
      return 'openai'
    case 'gemini-generate-content':
      return 'gemini'
    case 'anthropic-messages':
      return undefined
  }
}
