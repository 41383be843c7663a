import type { Codec, ToolNameRule } from '@/formats/codec.ts'
import { decodeFault } from '@/formats/faults/fault.ts'
import { COMMON_NAMES } from '@/formats/field-names.ts'
import { encodeOpenaiError } from '@/formats/openai/error.ts'
import { servedTier } from '@/formats/openai/shared-fields.ts'
import { encodeErrorEvent } from './answer/error.ts'
import { decodeResponse, encodeResponse, reportedUsage } from './answer/response.ts'
import { createStreamDecoder } from './answer/stream-decode.ts'
import { createStreamEncoder } from './answer/stream-encode.ts'
import { isTelling } from './answer/telling.ts'
import { modelTraits } from './models.ts'
import { passthrough } from './passthrough.ts'
import { decodeRequest } from './request/request-decode.ts'
import { encodeRequest } from './request/request-encode.ts'
import { vendorTraits } from './vendors.ts'
import { FORMAT } from './wire.ts'

const TOOL_NAMES: ToolNameRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, maxLength: 64 }

/** https://github.com/MoonshotAI/kimi-cli/issues/2531 */
const MOONSHOT_TOOL_NAMES: ToolNameRule = { pattern: /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, maxLength: 64 }

/** OpenAI Chat Completions, as OpenAI and the many vendors that follow it write it. */
export const openaiChatCompletions: Codec = {
  format: FORMAT,
  decodeRequest,
  encodeRequest,
  mostOutput: undefined,
  decodeResponse,
  reportedUsage,
  servedTier,
  encodeResponse,
  createStreamDecoder,
  createStreamEncoder,
  encodeError: encodeOpenaiError,
  encodeErrorEvent,
  numbersEvents: false,
  alwaysTellsUsage: false,
  decodeFault,
  replyRoom: {
    candidates: true,
    logprobs: true,
    bareSources: false,
    opaque: false,
    explains: new Set(['refusal']),
  },
  keepalive: ': keepalive\n\n',
  isTelling,
  fieldNames: {
    ...COMMON_NAMES,
    instructions: 'messages',
    tools: ['tools', 'functions'],
    toolChoice: ['tool_choice', 'function_call'],
    // Who speaks of functions has room for one call.
    parallelToolCalls: ['parallel_tool_calls', 'functions'],
    output: 'response_format',
    verbosity: 'verbosity',
    reasoning: ['reasoning_effort', 'reasoning', 'thinking'],
    reasoningEffort: ['reasoning_effort', 'reasoning.effort', 'thinking'],
    reasoningBudget: ['reasoning.max_tokens', 'thinking.budget_tokens'],
    maxOutputTokens: ['max_completion_tokens', 'max_tokens'],
    stop: 'stop',
    logprobs: 'logprobs',
    user: ['safety_identifier', 'user'],
    cacheMark: ['prompt_cache_breakpoint', 'cache_control'],
    toolStrict: 'tools.function.strict',
    outputStrict: 'response_format.json_schema.strict',
    imageDetail: 'image_url.detail',
    filename: 'file.filename',
    documentTitle: 'file',
    documentContext: 'file',
    citations: 'annotations',
    media: 'messages.content',
    mediaAddress: 'messages.content',
    reasoningHistory: ['messages.reasoning_content', 'messages.reasoning'],
    toolResultError: 'messages.tool',
  },
  // Arguments are text, as OpenAI defines it; some vendors write the object.
  dataKeys: new Set(['arguments', 'parameters', 'schema', 'input', 'input_schema']),
  // Of the vendors of this format only OpenAI knows them, and of its models those from gpt-5 on.
  takesCustomTools: ({ vendor, model }) =>
    vendorTraits(vendor).isOpenai && modelTraits(model).takesCustomTools,
  toolNames: ({ vendor }) => (vendorTraits(vendor).isMoonshot ? MOONSHOT_TOOL_NAMES : TOOL_NAMES),
  takesUrl: ({ kind }, _url, target) => {
    const { isOpenrouter, isMistral, isPerplexity, isMoonshot } = vendorTraits(target.vendor)
    if (kind === 'audio') return isMistral
    // https://platform.kimi.ai/docs/guide/use-kimi-vision-model: as data, or a file that it keeps.
    if (isMoonshot) return false
    return kind !== 'document' || isOpenrouter || isMistral || isPerplexity
  },
  tokenCount: undefined,
  passthrough,
}
