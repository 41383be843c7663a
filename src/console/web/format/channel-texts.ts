import type { Channel, Vendor } from '../../api/contract/admin-catalog.ts'
import { wrong } from '../api/failure.ts'
import { optionalCount, typedInteger, typedText } from './typed.ts'

/** A channel as people type it, by the names of the API. */
export interface ChannelTexts {
  name: string
  format: Channel['format']
  base_url: string
  /** More of them, beside those that are there. */
  api_keys: string
  headers: string
  priority: string
  weight: string
  max_concurrent: string
  'timeouts.connect_ms': string
  'timeouts.first_byte_ms': string
  'timeouts.idle_ms': string
  function_tools_only: boolean
  think_tags: NonNullable<Channel['think_tags']> | ''
  reasoning_field: NonNullable<Channel['reasoning_field']> | ''
  cache_prompts: boolean
  allow_private: boolean
}

/** What a form begins with: the channel that is changed, or a new one of a vendor. */
export function channelTexts(channel: Channel | undefined, vendor: Vendor | undefined): ChannelTexts {
  const text = (value: number | null | undefined) =>
    value === null || value === undefined ? '' : String(value)
  return {
    name: channel?.name ?? vendor?.channel.name ?? '',
    format: channel?.format ?? vendor?.channel.format ?? 'openai-chat-completions',
    base_url: channel?.base_url ?? vendor?.channel.base_url ?? '',
    api_keys: '',
    headers: headerLines(channel?.headers ?? {}),
    priority: text(channel?.priority ?? 0),
    weight: text(channel?.weight ?? 1),
    max_concurrent: text(channel?.max_concurrent),
    'timeouts.connect_ms': text(channel?.timeouts.connect_ms),
    'timeouts.first_byte_ms': text(channel?.timeouts.first_byte_ms),
    'timeouts.idle_ms': text(channel?.timeouts.idle_ms),
    function_tools_only: channel?.function_tools_only ?? false,
    think_tags: channel?.think_tags ?? '',
    reasoning_field: channel?.reasoning_field ?? '',
    cache_prompts: channel?.cache_prompts ?? false,
    allow_private: channel?.allow_private ?? false,
  }
}

/**
 * A channel as the server wants it; `kept` are its keys that stay, `channel` is the one that is changed.
 * @throws ApiFailure naming the field that cannot be read
 */
export function readChannelTexts(
  texts: ChannelTexts,
  kept: Channel['api_keys'],
  channel: Channel | undefined,
) {
  const count = (name: 'max_concurrent' | `timeouts.${'connect' | 'first_byte' | 'idle'}_ms`) =>
    optionalCount(texts[name], name)
  const headers = readHeaderLines(texts.headers)
  if (headers === undefined) wrong('headers', 'One header a line, such as x-team: gateway.')
  const secrets = texts.api_keys.split(/\s+/).filter(secret => secret !== '')
  if (channel === undefined && secrets.length === 0) wrong('api_keys', 'Paste a key of this vendor.')
  return {
    format: texts.format,
    base_url: typedText(texts.base_url, 'base_url', 'Where is it reached?'),
    api_keys: [...kept.map(({ id }) => ({ id })), ...secrets.map(secret => ({ secret }))],
    priority: typedInteger(texts.priority, 'priority'),
    weight: typedInteger(texts.weight, 'weight'),
    headers,
    timeouts: {
      connect_ms: count('timeouts.connect_ms'),
      first_byte_ms: count('timeouts.first_byte_ms'),
      idle_ms: count('timeouts.idle_ms'),
    },
    max_concurrent: count('max_concurrent') ?? null,
    function_tools_only: texts.function_tools_only,
    think_tags: texts.think_tags === '' ? null : texts.think_tags,
    reasoning_field: readReasoningField(texts),
    cache_prompts: texts.cache_prompts && texts.format === 'anthropic-messages',
    // Unticked on a new channel, the address decides.
    allow_private: texts.allow_private || channel !== undefined ? texts.allow_private : undefined,
  }
}

/** Only one format has several. */
function readReasoningField({ format, reasoning_field: field }: ChannelTexts): Channel['reasoning_field'] {
  return field === '' || format !== 'openai-chat-completions' ? null : field
}

/** Headers as people type them: `name: value`, one a line. */
export function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

/** The inverse; undefined if a line is no header. */
export function readHeaderLines(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const match = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*?)\s*$/.exec(line)
    if (match === null) return undefined
    const [, name = '', value = ''] = match
    headers[name] = value
  }
  return headers
}
