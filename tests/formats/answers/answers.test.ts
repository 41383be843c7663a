import { describe, expect, test } from 'bun:test'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { said } from '#tests/support/streams/said.ts'
import { decodeContext, eventsOf, FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { answerLoss, answerLosses } from '@/formats/answer-losses.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import type { MediaPart, Part } from '@/generation/part.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { inputTokens, outputTokens } from '@/generation/usage.ts'
import { parseExactObject } from '@/json/exact.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { PROBES, streamOf } from './probes.ts'

for (const upstream of FORMATS) {
  describe.each(PROBES[upstream].map(probe => [probe.name, probe] as const))(
    `${upstream}: %s`,
    (_, probe) => {
      const whole = decode(upstream, probe.whole)
      const events = eventsOf(upstream, [Buffer.from(streamOf(upstream, probe.stream))])

      test('is read alike whole and streamed', () => {
        expect(said(collect(events))).toEqual(said(whole))
      })

      describe.each(FORMATS.filter(other => other !== upstream))('for a caller of %s', caller => {
        const text = JSON.stringify(CODECS[caller].encodeResponse(whole, FULL_REPLY))
        const reply = decodeText(caller, text)
        const stream = runMachine(CODECS[caller].createStreamEncoder(FULL_REPLY), events).join('')

        test('is told alike whole and streamed, by the law of streams', () => {
          expect(unlawful(caller, stream)).toEqual([])
          const streamed = collect(eventsOf(caller, [Buffer.from(stream)]))
          expect(said(streamed)).toEqual(said(reply))
          expect(places(streamed)).toEqual(places(reply))
        })

        test('is told, or what of it is not has a name', () => {
          const names = answerLosses(whole, CODECS[caller])
          const namesOfStream = events.flatMap(event => answerLoss(event, CODECS[caller]) ?? [])
          expect([...new Set(namesOfStream)].sort()).toEqual([...names].sort())
          expect(silent(whole, reply, text, names)).toEqual([])
          const isTold = ({ words, fields }: Marked) =>
            text.includes(words) || fields.some(field => names.has(field))
          expect(marked(probe.whole).filter(each => !isTold(each))).toEqual([])
        })
      })
    },
  )
}

function decode(format: Format, body: JsonObject): GenerationResponse {
  return decodeText(format, JSON.stringify(body))
}

function decodeText(format: Format, text: string): GenerationResponse {
  return CODECS[format].decodeResponse(parseExactObject(text) ?? {}, decodeContext(format))
}

/** Where in the texts their sources are. */
function places({ candidates }: GenerationResponse) {
  return candidates.flatMap(({ parts }) =>
    parts.flatMap(part =>
      part.type === 'text' ? part.citations.map(({ url, start, end }) => ({ url, start, end })) : [],
    ),
  )
}

/**
 * What of an answer is neither in the reply nor among the names of what cannot be.
 * @param text the reply's JSON
 */
function silent(
  answer: GenerationResponse,
  reply: GenerationResponse,
  text: string,
  names: ReadonlySet<string>,
): string[] {
  const lost: string[] = []
  const must = (holds: boolean, what: string) => {
    if (!holds) lost.push(what)
  }
  const holds = (words: string) => text.includes(JSON.stringify(words).slice(1, -1))
  for (const [index, { parts, finish, logprobs }] of answer.candidates.entries()) {
    const told = reply.candidates[index]
    must(told !== undefined || names.has('candidates'), 'a candidate')
    if (told === undefined) continue
    for (const part of parts) for (const words of wordsOf(part)) must(holds(words), words)
    const toolNames = (all: readonly Part[]) =>
      all.flatMap(part => (part.type === 'tool-call' ? part.name : []))
    // Half a call is none where calls are objects.
    if (finish.reason !== 'length') expect(toolNames(told.parts)).toEqual(toolNames(parts))
    for (const part of parts) if (part.type === 'opaque') must(names.has(part.name), part.name)
    must(told.logprobs.length === logprobs.length || names.has('logprobs'), 'logprobs')
    const { message = '' } = finish
    must(holds(message) || names.has('finish_message') || finish.reason === 'prompt-blocked', message)
    const hasBare = parts.some(
      part => part.type === 'text' && part.citations.some(({ url }) => url === undefined),
    )
    must(!hasBare || names.has('citations') || text.includes('groundingChunks'), 'sources without an address')
  }
  if (answer.usage !== undefined && reply.usage !== undefined) {
    must(inputTokens(answer.usage) === inputTokens(reply.usage), 'input tokens')
    must(outputTokens(answer.usage) === outputTokens(reply.usage), 'output tokens')
  }
  must(answer.usage === undefined || reply.usage !== undefined, 'usage')
  return lost
}

/** Words of a vendor's answer that are marked as part of it, and the fields that they stand in. */
interface Marked {
  words: string
  fields: readonly string[]
}

function marked(value: JsonValue | undefined, fields: readonly string[] = []): Marked[] {
  if (typeof value === 'string')
    return value.includes('¤') ? [{ words: JSON.stringify(value).slice(1, -1), fields }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([field, inner]) => marked(inner, [...fields, field]))
}

/** What of a part a reader of the reply must find in it word for word. */
function wordsOf(part: Part): string[] {
  switch (part.type) {
    case 'text':
      // White space alone is no text where texts must not be empty.
      return [part.text.trim(), ...part.citations.flatMap(({ url }) => url ?? [])]
    case 'refusal':
      return [part.text]
    case 'reasoning':
      return [...part.texts]
    case 'media':
      return [addressOf(part), part.context ?? '']
    default:
      return []
  }
}

function addressOf({ source }: MediaPart): string {
  switch (source.type) {
    case 'base64':
      return source.data
    case 'url':
      return source.url
    case 'file-id':
      return source.id
    case 'text':
      return source.text
    default:
      return source satisfies never
  }
}
