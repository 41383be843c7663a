import type { Codec, ToolNameRule } from '@/formats/codec.ts'
import { decodeFault } from '@/formats/faults/fault.ts'
import { COMMON_NAMES } from '@/formats/field-names.ts'
import { Losses } from '@/formats/losses.ts'
import { encodeOpenaiError } from '@/formats/openai/error.ts'
import { servedTier } from '@/formats/openai/shared-fields.ts'
import { asNumber } from '@/json/json.ts'
import { hasMark } from '@/json/mark.ts'
import { encodeErrorEvent } from './answer/error.ts'
import { decodeResponse, encodeResponse, reportedUsage } from './answer/response.ts'
import { createStreamDecoder } from './answer/stream-decode.ts'
import { createStreamEncoder } from './answer/stream-encode.ts'
import { passthrough } from './passthrough.ts'
import { decodeRequest } from './request/request-decode.ts'
import { encodeCountRequest, encodeLimit, encodeRequest } from './request/request-encode.ts'
import { FORMAT } from './wire.ts'

const TELLING = [Buffer.from('"response"'), Buffer.from('"error"')]

const TOOL_NAMES: ToolNameRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, maxLength: 64 }

/** OpenAI's Responses API. */
export const openaiResponses: Codec = {
  format: FORMAT,
  decodeRequest,
  encodeRequest,
  mostOutput: ({ maxOutputTokens }, target) => encodeLimit(maxOutputTokens, target, new Losses()),
  decodeResponse,
  reportedUsage,
  servedTier,
  encodeResponse,
  createStreamDecoder,
  createStreamEncoder,
  encodeError: encodeOpenaiError,
  encodeErrorEvent,
  numbersEvents: true,
  alwaysTellsUsage: false,
  decodeFault,
  replyRoom: {
    candidates: false,
    logprobs: true,
    bareSources: false,
    opaque: true,
    explains: new Set(['refusal']),
  },
  keepalive: ': keepalive\n\n',
  // Inside of a JSON text a quote is escaped, so deltas never match: only the lifecycle's own key does.
  isTelling: event => hasMark(event, TELLING),
  dataKeys: new Set(['arguments', 'action', 'operation', 'parameters', 'schema']),
  takesCustomTools: () => true,
  toolNames: () => TOOL_NAMES,
  takesUrl: ({ kind }) => kind !== 'audio',
  tokenCount: {
    encodeRequest: encodeCountRequest,
    decodeResponse: body => asNumber(body['input_tokens']),
    encodeResponse: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  passthrough,
  fieldNames: {
    ...COMMON_NAMES,
    instructions: 'instructions',
    tools: 'tools',
    toolChoice: 'tool_choice',
    parallelToolCalls: 'parallel_tool_calls',
    output: 'text.format',
    verbosity: 'text.verbosity',
    reasoning: 'reasoning',
    reasoningEffort: 'reasoning.effort',
    reasoningBudget: 'reasoning.budget',
    maxOutputTokens: 'max_output_tokens',
    stop: 'stop',
    logprobs: ['top_logprobs', 'include'],
    user: ['safety_identifier', 'user'],
    cacheMark: 'prompt_cache_breakpoint',
    toolStrict: 'tools.strict',
    outputStrict: 'text.format.strict',
    imageDetail: 'input_image.detail',
    filename: 'input_file.filename',
    documentTitle: 'input_file.title',
    documentContext: 'input_file.context',
    citations: 'annotations',
    media: 'input',
    mediaAddress: 'input',
    reasoningHistory: 'reasoning.encrypted_content',
    toolResultError: 'function_call_output.status',
  },
}
