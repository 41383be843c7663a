/**
 * The wire types of the Responses API, from the vendor's SDK. They name the vocabularies that this codec switches
 * over, so that an SDK update with a new item or event is a compile error here.
 */
import type {
  ResponseOutputItem,
  ResponseStatus,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses'

/** The `type` of an output item. */
export type OutputItemType = ResponseOutputItem['type']

/**
 * The `type` of a stream event. The SDK lacks three: `keepalive` (its accumulator knows it, openai 7.55),
 * `response.cancelled` (the status exists, the event was seen), and `response.done`, which some backends send in place
 * of `response.completed`.
 */
export type StreamEventType =
  | ResponseStreamEvent['type']
  | 'keepalive'
  | 'response.cancelled'
  | 'response.done'

/** The status of one output item. */
export type ItemStatus = Extract<ResponseStatus, 'in_progress' | 'completed' | 'incomplete'>

/** This format's name, for signatures, citations and extensions. */
export const FORMAT = 'openai-responses' as const

/** What `include` asks for: reasoning that travels with the conversation, and log probabilities. */
export const ENCRYPTED = 'reasoning.encrypted_content'
export const LOGPROBS = 'message.output_text.logprobs'
