import type { Format } from '@/generation/format.ts'
import type { Channel } from './channel.ts'

/** A call that an upstream knows, beside its body. */
export interface UpstreamCall {
  kind: 'generate' | 'count-tokens' | OperationKind
  /** The upstream's name of the model; only Gemini has it in the path. */
  model: string
  stream: boolean
  /** The upstream's own id of what the call is about: a video, a file, the full name of an operation. */
  id?: string
  /** Without a question mark. */
  query?: string
}

/** Calls that are no conversation, under a name of their own where vendors have the same thing. */
type OperationKind = keyof typeof OPENAI_OPERATIONS | keyof typeof GEMINI_OPERATIONS

interface Endpoint {
  method: 'GET' | 'POST' | 'DELETE'
  /** `{model}` stands for Gemini's name of the model, `{id}` for what the call is about. */
  path: string
}

const OPENAI_OPERATIONS = {
  embeddings: { method: 'POST', path: '/embeddings' },
  'image-generation': { method: 'POST', path: '/images/generations' },
  'image-edit': { method: 'POST', path: '/images/edits' },
  'image-variation': { method: 'POST', path: '/images/variations' },
  speech: { method: 'POST', path: '/audio/speech' },
  transcription: { method: 'POST', path: '/audio/transcriptions' },
  translation: { method: 'POST', path: '/audio/translations' },
  'video-create': { method: 'POST', path: '/videos' },
  'video-show': { method: 'GET', path: '/videos/{id}' },
  'video-content': { method: 'GET', path: '/videos/{id}/content' },
  'video-remix': { method: 'POST', path: '/videos/{id}/remix' },
  compact: { method: 'POST', path: '/responses/compact' },
  'video-delete': { method: 'DELETE', path: '/videos/{id}' },
} as const satisfies Record<string, Endpoint>

const GEMINI_OPERATIONS = {
  'embed-content': { method: 'POST', path: '/{model}:embedContent' },
  'batch-embed-contents': { method: 'POST', path: '/{model}:batchEmbedContents' },
  predict: { method: 'POST', path: '/{model}:predict' },
  'predict-long-running': { method: 'POST', path: '/{model}:predictLongRunning' },
  operation: { method: 'GET', path: '/{id}' },
  'file-download': { method: 'GET', path: '/files/{id}:download?alt=media' },
} as const satisfies Record<string, Endpoint>

const OPERATIONS = { ...OPENAI_OPERATIONS, ...GEMINI_OPERATIONS }

/** What an upstream of a format has beside conversations. */
const OPERATIONS_OF: Record<Format, Readonly<Partial<Record<OperationKind, Endpoint>>>> = {
  'openai-chat-completions': OPENAI_OPERATIONS,
  'openai-responses': OPENAI_OPERATIONS,
  'anthropic-messages': {},
  'gemini-generate-content': GEMINI_OPERATIONS,
}

/** How a call is made. */
export function methodOf({ kind }: UpstreamCall): Endpoint['method'] {
  return kind === 'generate' || kind === 'count-tokens' ? 'POST' : OPERATIONS[kind].method
}

/**
 * A base address that already ends in a version segment (`/v1`, `/v1beta`) is used as it is, and so is one in which only
 * Google's own words stand behind that: `/openai` at the Gemini API, where it speaks OpenAI's format, and at Vertex the
 * publisher of the models, or the endpoint, with a project and a place before it or not.
 */
const VERSIONED =
  /\/v\d+[a-z0-9]*(?:\/openai|(?:\/projects\/[^/]+\/locations\/[^/]+)?\/(?:publishers|endpoints)\/[^/]+)?$/

/** The address of a call on a channel. */
export function endpointUrl(channel: Channel, call: UpstreamCall): string {
  const base = VERSIONED.test(channel.baseUrl)
    ? channel.baseUrl
    : `${channel.baseUrl}/${version(channel.format)}`
  const url = `${base}${path(channel.format, call)}`
  return call.query === undefined || call.query === ''
    ? url
    : `${url}${url.includes('?') ? '&' : '?'}${call.query}`
}

function version(format: Format): string {
  return format === 'gemini-generate-content' ? 'v1beta' : 'v1'
}

function path(format: Format, call: UpstreamCall): string {
  if (call.kind !== 'generate' && call.kind !== 'count-tokens') return operationPath(format, call.kind, call)
  const counting = call.kind === 'count-tokens'
  switch (format) {
    case 'openai-chat-completions':
      return '/chat/completions'
    case 'openai-responses':
      return counting ? '/responses/input_tokens' : '/responses'
    case 'anthropic-messages':
      return counting ? '/messages/count_tokens' : '/messages'
    case 'gemini-generate-content': {
      const name = encodePath(geminiName(call.model))
      if (counting) return `/${name}:countTokens`
      return call.stream ? `/${name}:streamGenerateContent?alt=sse` : `/${name}:generateContent`
    }
  }
}

/** A model's full name at Gemini, as it stands in bodies and, encoded, in paths. */
export function geminiName(upstreamModel: string): string {
  return /^(models|tunedModels)\//.test(upstreamModel) ? upstreamModel : `models/${upstreamModel}`
}

function operationPath(format: Format, kind: OperationKind, { model, id }: UpstreamCall): string {
  const endpoint = OPERATIONS_OF[format][kind]
  if (endpoint === undefined) throw new Error(`${format} has no ${kind}`)
  return endpoint.path
    .replace('{model}', () => encodePath(geminiName(model)))
    .replace('{id}', () => encodePath(id ?? ''))
}

/** Ids and names may hold slashes, which stay. */
function encodePath(text: string): string {
  return text.split('/').map(encodeURIComponent).join('/')
}

/** The headers that carry a channel's key, in the vendor's own way. */
export function keyHeaders(format: Format, secret: string): Record<string, string> {
  switch (format) {
    case 'openai-chat-completions':
    case 'openai-responses':
      return { authorization: `Bearer ${secret}` }
    case 'anthropic-messages':
      return { 'x-api-key': secret }
    case 'gemini-generate-content':
      return { 'x-goog-api-key': secret }
  }
}
