import type { Channel, Vendor } from '../../api/contract/admin-catalog.ts'
import { wrong } from '../api/failure.ts'
import { headerLines, readHeaderLines } from './header-lines.ts'
import { optionalCount, typedInteger, typedText } from './typed.ts'

/** A channel as people type it. */
export interface ChannelTexts {
  name: string
  format: Channel['format']
  baseUrl: string
  secrets: string
  headers: string
  priority: string
  weight: string
  maxConcurrent: string
  connectMs: string
  firstByteMs: string
  idleMs: string
  functionToolsOnly: boolean
  thinkTags: NonNullable<Channel['think_tags']> | ''
  cachePrompts: boolean
  allowPrivate: boolean
}

/** What a form begins with: the channel that is changed, or a new one of a vendor. */
export function channelTexts(channel: Channel | undefined, vendor: Vendor | undefined): ChannelTexts {
  const text = (value: number | null | undefined) =>
    value === null || value === undefined ? '' : String(value)
  return {
    name: channel?.name ?? vendor?.channel.name ?? '',
    format: channel?.format ?? vendor?.channel.format ?? 'openai-chat-completions',
    baseUrl: channel?.base_url ?? vendor?.channel.base_url ?? '',
    secrets: '',
    headers: headerLines(channel?.headers ?? {}),
    priority: text(channel?.priority ?? 0),
    weight: text(channel?.weight ?? 1),
    maxConcurrent: text(channel?.max_concurrent),
    connectMs: text(channel?.timeouts.connect_ms),
    firstByteMs: text(channel?.timeouts.first_byte_ms),
    idleMs: text(channel?.timeouts.idle_ms),
    functionToolsOnly: channel?.function_tools_only ?? false,
    thinkTags: channel?.think_tags ?? '',
    cachePrompts: channel?.cache_prompts ?? false,
    allowPrivate: channel?.allow_private ?? false,
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
  const headers = readHeaderLines(texts.headers)
  if (headers === undefined) wrong('headers', 'One header a line, such as x-team: gateway.')
  const secrets = texts.secrets.split(/\s+/).filter(secret => secret !== '')
  if (channel === undefined && secrets.length === 0) wrong('api_keys', 'Paste a key of this vendor.')
  return {
    format: texts.format,
    base_url: typedText(texts.baseUrl, 'base_url', 'Where is it reached?'),
    api_keys: [...kept.map(({ id }) => ({ id })), ...secrets.map(secret => ({ secret }))],
    priority: typedInteger(texts.priority, 'priority'),
    weight: typedInteger(texts.weight, 'weight'),
    headers,
    timeouts: {
      connect_ms: optionalCount(texts.connectMs, 'timeouts.connect_ms'),
      first_byte_ms: optionalCount(texts.firstByteMs, 'timeouts.first_byte_ms'),
      idle_ms: optionalCount(texts.idleMs, 'timeouts.idle_ms'),
    },
    max_concurrent: optionalCount(texts.maxConcurrent, 'max_concurrent') ?? null,
    function_tools_only: texts.functionToolsOnly,
    think_tags: texts.thinkTags === '' ? null : texts.thinkTags,
    cache_prompts: texts.cachePrompts && texts.format === 'anthropic-messages',
    // Unticked on a new channel, the address decides.
    allow_private: texts.allowPrivate || channel !== undefined ? texts.allowPrivate : undefined,
  }
}
