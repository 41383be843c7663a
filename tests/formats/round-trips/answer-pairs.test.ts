import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { call } from '#tests/formats/parts.ts'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { said } from '#tests/support/streams/said.ts'
import { decodeContext, eventsOf, FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { answerLoss, answerLosses } from '@/formats/answer-losses.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import {
  type Citation,
  mediaPart,
  type Part,
  reasoningPart,
  type Signature,
  textPart,
} from '@/generation/part.ts'
import type { Candidate, GenerationResponse } from '@/generation/response.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { parseExactObject } from '@/json/exact.ts'
import { told } from './answers.ts'
import { argumentsText, words } from './conversations.ts'

const signature: fc.Arbitrary<Signature | undefined> = fc.option(
  fc.record({
    format: fc.constantFrom(...FORMATS),
    vendor: fc.constantFrom('openai', 'anthropic', 'google', 'x.example'),
    value: fc.constantFrom('U0lH', 'QUJD'),
  }),
  { nil: undefined },
)

const citation: fc.Arbitrary<Citation> = fc
  .record({
    url: fc.option(fc.constantFrom('https://a.example/?b=c', 'https://ö.example'), {
      nil: undefined,
      freq: 4,
    }),
    title: fc.constantFrom('T "q"', 'Ö'),
    citedText: fc.option(fc.constant('cited'), { nil: undefined }),
    span: fc.option(fc.tuple(fc.nat(1), fc.integer({ min: 1, max: 2 })), {
      nil: [undefined, undefined] as const,
    }),
  })
  .map(({ span: [start, end], ...rest }) => ({ ...rest, start, end, wire: undefined }))

const image = mediaPart({
  kind: 'image',
  mediaType: 'image/png',
  source: { type: 'base64', data: 'UklGRgAA' },
})

const some = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number) => fc.array(arbitrary, { maxLength })

/** In the order in which all formats can say it, since a message of Chat has one place for each kind. */
const parts: fc.Arbitrary<Part[]> = fc
  .record({
    thoughts: some(
      fc.record({ texts: fc.array(words, { minLength: 1, maxLength: 2 }), signature, raw: fc.boolean() }),
      3,
    ),
    texts: some(fc.record({ text: words, citations: some(citation, 2) }), 1),
    refusals: fc.oneof({ weight: 4, arbitrary: fc.constant<string[]>([]) }, some(words, 1)),
    images: some(fc.constant(image), 1),
    calls: some(fc.record({ name: fc.constantFrom('get_weather', 'now'), input: argumentsText }), 3),
  })
  .map(({ thoughts, texts, refusals, images, calls }) => [
    ...thoughts.map(reasoningPart),
    ...texts.map(({ text, citations }) => ({ ...textPart(text), citations })),
    ...refusals.map(text => ({ type: 'refusal', text }) as const),
    ...images,
    ...calls.map((each, index) => call(`call_${index}`, each)),
  ])

const token = (text: string) => ({
  token: text,
  logprob: -0.5,
  bytes: [...Buffer.from(text)],
  top_logprobs: [],
})

const candidate: fc.Arbitrary<Omit<Candidate, 'index'>> = fc
  .record({
    parts,
    logprobs: some(fc.constantFrom(...['a', 'é', '🎈'].map(token)), 2),
    reason: fc.constantFrom('end', 'length', 'content-filter', 'stop-sequence', 'other'),
    message: fc.option(fc.constant('because'), { nil: undefined }),
  })
  .map(({ parts, logprobs, reason, message }) => {
    const isCalling = reason === 'end' && parts.some(({ type }) => type === 'tool-call')
    const stopSequence = reason === 'stop-sequence' ? 'END' : undefined
    return { parts, logprobs, finish: { reason: isCalling ? 'tool-calls' : reason, stopSequence, message } }
  })

const answer: fc.Arbitrary<GenerationResponse> = fc
  .record({
    candidates: fc.array(candidate, { minLength: 1, maxLength: 2 }),
    /** From one candidate's number to the next: an upstream may skip some. */
    step: fc.constantFrom(1, 1, 2),
    counts: fc.record({
      inputUncached: fc.nat(9),
      cacheRead: fc.nat(9),
      outputText: fc.nat(9),
      reasoning: fc.nat(9),
    }),
  })
  .map(({ candidates, step, counts }) => ({
    id: 'a',
    model: 'm',
    candidates: candidates.map((one, position) => ({ index: position * step, ...one })),
    usage: { ...NO_USAGE, ...counts },
    serviceTier: undefined,
  }))

const order = fc.array(fc.nat(7), { minLength: 1, maxLength: 20 })

const PAIRS = FORMATS.flatMap(upstream =>
  FORMATS.filter(caller => caller !== upstream).map(caller => [upstream, caller] as const),
)

test.each(PAIRS)(
  'any answer of %s is told to a caller of %s alike whole and streamed',
  (upstream, caller) => {
    fc.assert(
      fc.property(answer, order, (response, choices) => {
        const answered = whole(upstream, response)
        const reply = whole(caller, answered)
        const events = eventsOf(upstream, [write(upstream, told(response, choices))])
        const stream = write(caller, events)
        expect(unlawful(caller, stream.toString())).toEqual([])
        const streamed = collect(eventsOf(caller, [stream]))
        expect(heard(streamed)).toEqual(heard(reply))
        expect(seals(streamed)).toEqual(seals(reply))
        const names = new Set(events.flatMap(event => answerLoss(event, CODECS[caller]) ?? []))
        expect([...names].sort()).toEqual([...answerLosses(answered, CODECS[caller])].sort())
      }),
      { numRuns: 60 },
    )
  },
)

/** What a reader of this format finds in the whole answer that we write. */
function whole(format: Format, response: GenerationResponse): GenerationResponse {
  const text = JSON.stringify(CODECS[format].encodeResponse(response, FULL_REPLY))
  return CODECS[format].decodeResponse(parseExactObject(text) ?? {}, decodeContext(format))
}

function write(format: Format, events: ReturnType<typeof told>): Buffer {
  return Buffer.from(runMachine(CODECS[format].createStreamEncoder(FULL_REPLY), events).join(''))
}

/** Calls by their ids, since Gemini's are written when they are whole. */
function heard(response: GenerationResponse) {
  const { candidates, ...rest } = said(response)
  return {
    ...rest,
    candidates: candidates.map((candidate, at) => ({
      ...candidate,
      index: response.candidates[at]?.index,
      calls: candidate.calls.toSorted((a, b) => a.id.localeCompare(b.id)),
    })),
  }
}

/** What a reader brings back to whoever signed it. A stream of Chat tells that of its text behind those of its calls. */
function seals({ candidates }: GenerationResponse): string[] {
  const values = candidates.flatMap(({ parts }) =>
    parts.flatMap(part => ('signature' in part ? (part.signature?.value ?? []) : [])),
  )
  return values.sort()
}
