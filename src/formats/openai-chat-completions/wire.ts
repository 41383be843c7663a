import type { ChatCompletion } from 'openai/resources/chat/completions/completions'
import type { Format } from '@/generation/format.ts'

/**
 * The wire's own names. Types come from OpenAI's SDK; answers and requests are read by name as JSON, since other
 * vendors of this format add fields that no SDK has.
 */
export type { CompletionUsage } from 'openai/resources/completions'
/** What the API itself gives; other vendors of this format have reasons of their own. */
export type FinishReason = ChatCompletion.Choice['finish_reason']

/** This format's name, for signatures and extensions. */
export const FORMAT = 'openai-chat-completions' satisfies Format
