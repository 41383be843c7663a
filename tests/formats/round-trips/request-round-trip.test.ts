import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Target } from '@/formats/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { RequestField } from '@/generation/loss.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { parseExactObject } from '@/json/exact.ts'
import { conversation } from './conversations.ts'
import { meaning } from './meaning.ts'

const TARGETS: Record<Format, Target> = {
  'openai-chat-completions': { model: 'gpt-4.1', vendor: 'openai', maxOutputTokens: undefined },
  'openai-responses': { model: 'gpt-4.1', vendor: 'openai', maxOutputTokens: undefined },
  'anthropic-messages': { model: 'claude-sonnet-4-5', vendor: 'anthropic', maxOutputTokens: undefined },
  'gemini-generate-content': {
    model: 'gemini-3-flash-preview',
    vendor: 'google',
    maxOutputTokens: undefined,
  },
}

/** Fields that come through as they are or are named as a loss. */
const PLAIN = [
  'toolChoice',
  'verbosity',
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'logitBias',
  'logprobs',
  'user',
  'metadata',
  'promptCacheKey',
] as const satisfies readonly (RequestField & keyof GenerationRequest)[]

const PAIRS = FORMATS.flatMap(first => FORMATS.map(second => [first, second] as const))

describe('a conversation', () => {
  test.each(PAIRS)('through %s and %s says what it said, up to declared losses', (first, second) => {
    fc.assert(
      fc.property(conversation, request => {
        const once = through(request, first)
        through(once, second)
      }),
      { numRuns: 40 },
    )
  })

  test.each(FORMATS)('gives %s the same bytes every time', format => {
    fc.assert(
      fc.property(conversation, request => {
        const bytes = () =>
          JSON.stringify(CODECS[format].encodeRequest(structuredClone(request), TARGETS[format]))
        expect(bytes()).toBe(bytes())
      }),
      { numRuns: 100 },
    )
  })
})

/** What a reader of this format makes of the request, which is held to what it was. */
function through(request: GenerationRequest, format: Format): GenerationRequest {
  const codec = CODECS[format]
  const { body, losses, emulate } = codec.encodeRequest(request, TARGETS[format])
  const again = codec.decodeRequest(parseExactObject(JSON.stringify(body)) ?? {}, {
    model: request.model,
    stream: request.stream,
  })
  expect(meaning(again)).toEqual(meaning(request))
  const lost = new Set<string>(losses.map(({ field }) => field))
  for (const field of PLAIN) {
    if (request[field] === undefined || lost.has(field)) continue
    expect({ [field]: again[field] }).toEqual({ [field]: request[field] })
  }
  const oneAtATime = request.parallelToolCalls === false && request.toolChoice?.type !== 'none'
  if (oneAtATime && !lost.has('parallelToolCalls')) expect(again.parallelToolCalls).toBe(false)
  if (!lost.has('stop')) expect(new Set([...again.stop, ...emulate.stop])).toEqual(new Set(request.stop))
  if (request.output?.type === 'json-schema' && !lost.has('output')) {
    expect(again.output).toMatchObject({ type: 'json-schema', schema: request.output.schema })
  }
  const thought = request.turns.some(turn => turn.parts.some(part => part.type === 'reasoning'))
  if (thought && !lost.has('reasoningHistory')) expect(thoughts(again)).toBe(thoughts(request))
  return again
}

function thoughts(request: GenerationRequest): string {
  const parts = request.turns.flatMap(turn => turn.parts)
  return parts.flatMap(part => (part.type === 'reasoning' ? part.texts : [])).join('')
}
