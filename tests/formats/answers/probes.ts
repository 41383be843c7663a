import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { CHAT } from './chat-probes.ts'
import { CHAT_VENDORS } from './chat-vendor-probes.ts'
import { GEMINI } from './gemini-probes.ts'
import { MESSAGES } from './messages-probes.ts'
import type { Probe } from './probe.ts'
import { RESPONSES } from './responses-probes.ts'

/** Answers of every kind that a vendor of the format gives. */
export const PROBES: Record<Format, readonly Probe[]> = {
  'openai-chat-completions': [...CHAT, ...CHAT_VENDORS],
  'openai-responses': RESPONSES,
  'anthropic-messages': MESSAGES,
  'gemini-generate-content': GEMINI,
}

/** The stream of these events, as its vendor frames it. */
export function streamOf(format: Format, events: readonly JsonObject[]): string {
  const isNamed = format === 'openai-responses' || format === 'anthropic-messages'
  const written = events.map(event => {
    const name = isNamed ? `event: ${String(event['type'])}\n` : ''
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return written.join('') + (format === 'openai-chat-completions' ? 'data: [DONE]\n\n' : '')
}
