import type { Codec, ToolNameRule } from '@/formats/codec.ts'
import { decodeFault } from '@/formats/faults/fault.ts'
import { COMMON_NAMES } from '@/formats/field-names.ts'
import { hasMark } from '@/json/mark.ts'
import { encodeError, encodeErrorEvent } from './answer/error.ts'
import { decodeResponse, encodeResponse, reportedUsage, servedTier } from './answer/response.ts'
import { createStreamDecoder } from './answer/stream-decode.ts'
import { createStreamEncoder } from './answer/stream-encode.ts'
import { passthrough } from './passthrough.ts'
import { decodeRequest } from './request/request-decode.ts'
import { encodeRequest } from './request/request-encode.ts'
import { mostOutput } from './request/thinking-encode.ts'
import { hostedName } from './request/tools-encode.ts'
import { tokenCount } from './token-count.ts'
import { ARGUMENT_NAME, DATA_KEYS, FORMAT } from './wire.ts'

const FIELD_NAMES: Codec['fieldNames'] = {
  ...COMMON_NAMES,
  instructions: 'system',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  output: 'output_config.format',
  verbosity: 'verbosity',
  reasoning: ['thinking', 'output_config.effort'],
  reasoningEffort: 'output_config.effort',
  reasoningBudget: 'thinking.budget_tokens',
  maxOutputTokens: 'max_tokens',
  stop: 'stop_sequences',
  logprobs: 'logprobs',
  user: 'metadata.user_id',
  cacheMark: 'cache_control',
  toolStrict: 'tools.strict',
  outputStrict: 'output_config.format.strict',
  imageDetail: 'messages.content.detail',
  filename: 'messages.content.filename',
  documentTitle: 'messages.content.title',
  documentContext: 'messages.content.context',
  citations: 'messages.content.citations',
  media: 'messages.content',
  mediaAddress: 'messages.content',
  reasoningHistory: 'messages.content.thinking',
  toolResultError: 'messages.content.is_error',
}

const TELLING = [Buffer.from('message_'), Buffer.from('"error"')]

const TOOL_NAMES: ToolNameRule = {
  pattern: /^[a-zA-Z0-9_-]{1,128}$/,
  maxLength: 128,
  argument: ARGUMENT_NAME,
  hosted: hostedName,
}

/** Anthropic's Messages API. */
export const anthropicMessages: Codec = {
  format: FORMAT,
  decodeRequest,
  encodeRequest,
  mostOutput,
  decodeResponse,
  reportedUsage,
  servedTier,
  encodeResponse,
  createStreamDecoder,
  createStreamEncoder,
  encodeError,
  encodeErrorEvent,
  numbersEvents: false,
  alwaysTellsUsage: true,
  decodeFault,
  replyRoom: {
    candidates: false,
    logprobs: false,
    bareSources: false,
    opaque: true,
    explains: new Set(['refusal', 'content-filter', 'prompt-blocked']),
  },
  keepalive: 'event: ping\ndata: {"type":"ping"}\n\n',
  // The three message_ events hold usage and the end; "error" is the type of an error event and its object's name.
  isTelling: event => hasMark(event, TELLING),
  fieldNames: FIELD_NAMES,
  dataKeys: DATA_KEYS,
  takesCustomTools: () => false,
  toolNames: () => TOOL_NAMES,
  takesUrl: () => true,
  tokenCount,
  passthrough,
}
