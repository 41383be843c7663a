import type { Codec, ToolNameRule } from '@/formats/codec.ts'
import { decodeFault } from '@/formats/faults/fault.ts'
import { STOP_REASONS } from '@/generation/response.ts'
import { hasMark } from '@/json/mark.ts'
import { encodeError, encodeErrorEvent } from './answer/error.ts'
import { decodeResponse, encodeResponse, reportedUsage, servedTier } from './answer/response.ts'
import { createStreamDecoder } from './answer/stream-decode.ts'
import { createStreamEncoder } from './answer/stream-encode.ts'
import { canFetch } from './media.ts'
import { modelTraits } from './models.ts'
import { passthrough } from './passthrough.ts'
import { decodeRequest } from './request/request-decode.ts'
import { encodeRequest } from './request/request-encode.ts'
import { tokenCount } from './token-count.ts'
import { DATA_KEYS, FORMAT } from './wire.ts'

const FIELD_NAMES: Codec['fieldNames'] = {
  instructions: 'systemInstruction',
  tools: 'tools',
  toolChoice: 'toolConfig.functionCallingConfig',
  parallelToolCalls: 'toolConfig.functionCallingConfig',
  output: [
    'generationConfig.responseJsonSchema',
    'generationConfig.responseSchema',
    'generationConfig.responseFormat',
    'generationConfig.responseMimeType',
  ],
  verbosity: 'verbosity',
  reasoning: 'generationConfig.thinkingConfig',
  reasoningEffort: 'generationConfig.thinkingConfig.thinkingLevel',
  reasoningBudget: 'generationConfig.thinkingConfig.thinkingBudget',
  maxOutputTokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  stop: 'generationConfig.stopSequences',
  seed: 'generationConfig.seed',
  presencePenalty: 'generationConfig.presencePenalty',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  logitBias: 'logitBias',
  logprobs: 'generationConfig.responseLogprobs',
  candidates: 'generationConfig.candidateCount',
  modalities: 'generationConfig.responseModalities',
  user: 'user',
  metadata: 'labels',
  promptCacheKey: 'promptCacheKey',
  serviceTier: 'serviceTier',
  store: 'store',
  cacheMark: 'cachedContent',
  toolStrict: 'tools.functionDeclarations',
  outputStrict: 'generationConfig.responseJsonSchema',
  imageDetail: 'generationConfig.mediaResolution',
  filename: 'contents.parts.inlineData.displayName',
  documentTitle: 'contents.parts.inlineData.displayName',
  documentContext: 'contents.parts.inlineData',
  citations: 'groundingMetadata',
  media: ['contents.parts.inlineData', 'contents.parts.fileData'],
  mediaAddress: 'contents.parts.fileData',
  reasoningHistory: 'contents.parts.thoughtSignature',
  toolResultError: 'contents.parts.functionResponse.response',
}

const TOOL_NAMES: ToolNameRule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/, maxLength: 64 }

/** Google's Gemini API, generateContent and streamGenerateContent. */
export const geminiGenerateContent: Codec = {
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
  encodeError,
  encodeErrorEvent,
  numbersEvents: false,
  alwaysTellsUsage: false,
  decodeFault,
  replyRoom: {
    candidates: true,
    logprobs: true,
    bareSources: true,
    opaque: true,
    explains: new Set([...STOP_REASONS]),
  },
  // An empty line: the SDK of Gemini CLI dies of comments and event names.
  keepalive: '\n',
  isTelling: event => hasMark(event, TELLING),
  fieldNames: FIELD_NAMES,
  dataKeys: DATA_KEYS,
  takesCustomTools: () => false,
  toolNames: () => TOOL_NAMES,
  takesUrl: (_part, url, target) => canFetch(url, modelTraits(target.model)),
  tokenCount,
  passthrough,
}

const TELLING = [
  Buffer.from('"usageMetadata"'),
  Buffer.from('"finishReason"'),
  Buffer.from('"promptFeedback"'),
  Buffer.from('"error"'),
]
