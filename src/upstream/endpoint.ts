import type { Format } from '@/generation/format.ts'
import type { Channel } from './channel.ts'

/** A call that an upstream knows, beside its body. */
export interface UpstreamCall {
  kind: 'generate' | 'count-tokens'
  /** The upstream's name of the model; only Gemini has it in the path. */
  model: string
  stream: boolean
}

/** A base address that already ends in a version segment (`/v1`, `/v1beta`) is used as it is. */
const VERSIONED = /\/v\d+[a-z0-9]*$/

/** The address of a call on a channel. */
export function endpointUrl(channel: Channel, call: UpstreamCall): string {
  const base = VERSIONED.test(channel.baseUrl)
    ? channel.baseUrl
    : `${channel.baseUrl}/${version(channel.format)}`
  return `${base}${path(channel.format, call)}`
}

function version(format: Format): string {
  return format === 'gemini-generate-content' ? 'v1beta' : 'v1'
}

function path(format: Format, call: UpstreamCall): string {
  const counting = call.kind === 'count-tokens'
  switch (format) {
    case 'openai-chat-completions':
      return '/chat/completions'
    case 'openai-responses':
      return counting ? '/responses/input_tokens' : '/responses'
    case 'anthropic-messages':
      return counting ? '/messages/count_tokens' : '/messages'
    case 'gemini-generate-content': {
      const model = call.model.split('/').map(encodeURIComponent).join('/')
      const name = model.startsWith('models/') || model.startsWith('tunedModels/') ? model : `models/${model}`
      if (counting) return `/${name}:countTokens`
      return call.stream ? `/${name}:streamGenerateContent?alt=sse` : `/${name}:generateContent`
    }
  }
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
