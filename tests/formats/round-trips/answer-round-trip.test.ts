import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { said } from '#tests/support/streams/said.ts'
import { decodeContext, eventsOf } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { Candidate, GenerationResponse } from '@/generation/response.ts'
import { parseExactObject } from '@/json/exact.ts'
import { answer, told } from './answers.ts'
import { conversation } from './conversations.ts'

/** A request that asks to see everything. */
const [asked = undefined] = fc.sample(conversation, { seed: 1, numRuns: 1 })
const request: GenerationRequest | undefined = asked && {
  ...asked,
  reasoning: { effort: 'low', budgetTokens: undefined, summary: 'auto' },
}

const choices = fc.array(fc.nat(7), { minLength: 1, maxLength: 20 })

test.each(FORMATS)('any stream of %s that we write says what it was told, however it is cut', format => {
  fc.assert(
    fc.property(answer, choices, choices, (response, order, cuts) => {
      const events = told(response, order)
      expect(said(collect(events))).toEqual(said(response))
      const stream = Buffer.from(write(format, events))
      expect(unlawful(format, stream.toString())).toEqual([])
      const refused = isRefused(response)
      const read = collect(eventsOf(format, pieces(stream, cuts)))
      expect(heard(format, read, refused)).toEqual(heard(format, response, refused))
    }),
    { numRuns: 150 },
  )
})

test.each(FORMATS)('any whole answer of %s that we write says the same as its stream', format => {
  fc.assert(
    fc.property(answer, response => {
      const body = CODECS[format].encodeResponse(response, replyContext())
      const whole = CODECS[format].decodeResponse(
        parseExactObject(JSON.stringify(body)) ?? {},
        decodeContext(format),
      )
      const refused = isRefused(response)
      expect(heard(format, whole, refused)).toEqual(heard(format, response, refused))
    }),
    { numRuns: 150 },
  )
})

function replyContext() {
  if (request === undefined) throw new Error('no request was made')
  return {
    requestId: '0198c0de-0000-7000-8000-000000000001',
    createdAt: 1_763_650_800,
    model: 'm',
    request,
    wire: { stream_options: { include_usage: true } },
    estimatedInputTokens: undefined,
  }
}

function write(format: Format, events: readonly GenerationEvent[]): string {
  return runMachine(CODECS[format].createStreamEncoder(replyContext()), events).join('')
}

function pieces(stream: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < stream.length; ) {
    const size = 1 + 13 * (sizes[chunks.length % sizes.length] ?? 0)
    chunks.push(stream.subarray(at, at + size))
    at += size
  }
  return chunks
}

/** Formats in which the model's words of refusal are text like any other. */
const PLAIN_REFUSALS: readonly Format[] = ['anthropic-messages', 'gemini-generate-content']

/**
 * What a caller of this format hears of an answer. Calls are taken by their ids, since Gemini's are written when they
 * are whole, and one may end before another that began earlier.
 * @param refused whether the answer holds a refusal, which is a reason to stop in one format and none in another
 */
function heard(format: Format, response: GenerationResponse, refused: boolean) {
  const { candidates, usage } = said(response)
  return {
    usage,
    candidates: candidates.map((candidate, index) => ({
      ...candidate,
      calls: candidate.calls.toSorted((a, b) => a.id.localeCompare(b.id)),
      ...(refused && { finish: undefined }),
      ...(PLAIN_REFUSALS.includes(format) && {
        text: wordsOf(response.candidates[index]),
        refusal: undefined,
      }),
    })),
  }
}

function wordsOf(candidate: Candidate | undefined): string {
  const spoken = candidate?.parts.filter(part => part.type === 'text' || part.type === 'refusal')
  return spoken?.map(({ text }) => text).join('') ?? ''
}

function isRefused(response: GenerationResponse): boolean {
  return response.candidates.some(({ parts }) => parts.some(({ type }) => type === 'refusal'))
}
