import type {
  RawContentBlockDelta,
  RawMessageStreamEvent,
  StopReason as SdkStopReason,
  Usage as SdkUsage,
} from '@anthropic-ai/sdk/resources/messages/messages'
import type { ErrorType as SdkErrorType } from '@anthropic-ai/sdk/resources/shared'

/** This format's own name, as signatures, citations and opaque parts carry it. */
export const FORMAT = 'anthropic-messages' as const

/** The API wants a version, which some callers forget: the one that still takes sampling parameters. */
export const VERSION = Object.freeze({ 'anthropic-version': '2023-06-01' })

/** What becomes of thoughts that come back to another conversation than theirs (beta). */
export const BLOCK_BINDING = 'thinking.block_binding' as const

/** What a tool's arguments may be called; nobody looks at names deeper inside. */
export const ARGUMENT_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** Where a conversation holds a tool's own data. */
export const DATA_KEYS: ReadonlySet<string> = new Set(['input', 'input_schema', 'schema'])

/**
 * Why an answer ended. `compaction` is the beta API's only: the server cut the context and the turn can go on.
 * https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
 */
export type StopReason = SdkStopReason | 'compaction'

/** The `type` of an error; `request_too_large` is documented but missing from the SDK's list. */
export type ErrorType = SdkErrorType | 'request_too_large'

/** The usage of a message, and of the end of a stream. */
export type MessageUsage = SdkUsage
export type {
  MessageDeltaUsage,
  RefusalStopDetails,
  ServerToolUsage,
  ServerToolUseBlock,
  WebSearchToolResultBlock,
} from '@anthropic-ai/sdk/resources/messages/messages'

/** The `type` of a streamed event; the SDK hides `ping` and `error` from its users. */
export type StreamEventType = RawMessageStreamEvent['type'] | 'ping' | 'error'

/** The `type` of a block's delta; `compaction_delta` is the beta API's only. */
export type DeltaType = RawContentBlockDelta['type'] | 'compaction_delta'
