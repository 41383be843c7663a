/**
 * The wire's own names. Types come from OpenAI's SDK; what other vendors of this format add is read by name where it
 * is needed, since no SDK has it.
 */
export type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
  ChatCompletionTool,
  ChatCompletionToolChoiceOption,
} from 'openai/resources/chat/completions/completions'
export type { CompletionUsage } from 'openai/resources/completions'

import type { ChatCompletion } from 'openai/resources/chat/completions/completions'
import type { Format } from '@/generation/format.ts'

export type FinishReason = ChatCompletion.Choice['finish_reason']

/** This format's name, for signatures and extensions. */
export const FORMAT = 'openai-chat-completions' satisfies Format
