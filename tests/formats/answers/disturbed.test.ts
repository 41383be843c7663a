import { describe, expect, test } from 'bun:test'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { said } from '#tests/support/streams/said.ts'
import { eventsOf, FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Probe } from './probe.ts'
import { PROBES, streamOf } from './probes.ts'

/** What tomorrow's vendor may say between two events, which nobody here has heard of. */
const STRANGERS: Record<Format, JsonObject> = {
  'openai-chat-completions': { id: 'x', object: 'chat.completion.telemetry', choices: [], mood: { a: [1] } },
  'openai-responses': { type: 'response.dream.delta', output_index: 0, item_id: 'z', delta: 'zzz' },
  'anthropic-messages': { type: 'weather', index: 0, delta: { type: 'rain_delta', text: 'zzz' } },
  'gemini-generate-content': { weather: 'rain', candidates: [{ index: 0, mood: 'fair', content: {} }] },
}

/** Every object of an answer with a field that nobody knows; what is the caller's own data stays. */
function withStrangeFields(value: JsonValue, key = ''): JsonValue {
  if (DATA.has(key)) return value
  if (Array.isArray(value)) return value.map(inner => withStrangeFields(inner))
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, withStrangeFields(inner ?? null, name)])
  // Gemini takes a part of nothing it knows for one of a new kind.
  return {
    ...Object.fromEntries(entries),
    ...(!('functionCall' in value) && { zz_future: { deep: [null] } }),
  }
}

const DATA: ReadonlySet<string> = new Set([
  ...['args', 'arguments', 'input', 'action', 'operation', 'citation', 'annotation', 'annotations'],
  ...[
    'citations',
    'groundingChunks',
    'content_block',
    'item',
    'logprobs',
    'logprobsResult',
    'usage',
    'parts',
  ],
])

function objects(events: readonly JsonValue[]): JsonObject[] {
  return events.filter(isJsonObject)
}

const between = (events: readonly JsonObject[], stranger: JsonObject) =>
  events.flatMap((event, at) => (at === 0 ? [event] : [stranger, event]))

/** What must not change an answer. */
const DISTURBANCES: readonly (readonly [string, (probe: Probe, format: Format) => JsonObject[]])[] = [
  ['events of tomorrow', ({ stream }, format) => between(stream, STRANGERS[format])],
  ['fields of tomorrow', ({ stream }) => objects(stream.map(event => withStrangeFields(event)))],
  ['its end said twice', ({ stream }) => [...stream, ...stream.slice(-1)]],
]

for (const format of FORMATS) {
  describe.each(PROBES[format].map(probe => [probe.name, probe] as const))(`${format}: %s`, (_, probe) => {
    const bytes = Buffer.from(streamOf(format, probe.stream))
    const answer = collect(eventsOf(format, [bytes]))

    test('is the same answer in single bytes', () => {
      const pieces = Array.from(bytes, byte => Buffer.of(byte))
      expect(eventsOf(format, pieces)).toEqual(eventsOf(format, [bytes]))
    })

    test.each(DISTURBANCES)('is the same answer with %s', (_kind, disturb) => {
      const events = eventsOf(format, [Buffer.from(streamOf(format, disturb(probe, format)))])
      expect(events.filter(({ type }) => type === 'error')).toEqual([])
      expect(said(collect(events))).toEqual(said(answer))
    })

    test('is lawful for every caller wherever it is cut', () => {
      for (let kept = 0; kept < probe.stream.length; kept += 1) {
        const cut = Buffer.from(
          streamOf(format, probe.stream.slice(0, kept)).replace(/data: \[DONE\]\s*$/, ''),
        )
        const events = eventsOf(format, [cut])
        for (const caller of FORMATS) {
          if (caller === format) continue
          const written = runMachine(CODECS[caller].createStreamEncoder(FULL_REPLY), events).join('')
          expect(unlawful(caller, written)).toEqual([])
        }
      }
    })
  })
}
