import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { CALLERS, UPSTREAMS } from '#tests/formats/callers.ts'
import { call } from '#tests/formats/parts.ts'
import { replyContext, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import { type Part, reasoningPart, textPart } from '@/generation/part.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { parseExactObject } from '@/json/exact.ts'
import type { JsonObject } from '@/json/json.ts'
import { assembled } from './assembled.ts'
import { argumentsText, words } from './conversations.ts'
import { exact } from './meaning.ts'

const GEMINI = 'gemini-generate-content'

/** What was said by its kinds, in the order in which every format can say it. */
interface Said {
  thought: string | undefined
  text: string | undefined
  calls: readonly { id: string; name: string; input: string }[]
}

const said: fc.Arbitrary<Said> = fc.record({
  thought: fc.option(words, { nil: undefined }),
  text: fc.option(words, { nil: undefined, freq: 4 }),
  calls: fc.uniqueArray(
    fc.record({
      id: fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/),
      name: fc.constantFrom('f', 'get_weather'),
      input: argumentsText,
    }),
    { minLength: 1, maxLength: 3, selector: ({ id }) => id },
  ),
})

/** The answer of an upstream. It signs its thoughts, but for Gemini, which signs the first call and takes no thoughts back. */
function answerOf(upstream: Format, { thought, text, calls }: Said): GenerationResponse {
  const { vendor } = UPSTREAMS[upstream]
  const sign = (value: string) => ({ format: upstream, vendor, value })
  const parts: Part[] = []
  if (thought !== undefined) {
    const entries = [{ type: 'reasoning.text', text: thought, signature: 'S1', index: 0 }]
    const value = upstream === 'openai-chat-completions' ? JSON.stringify(entries) : 'UzE='
    const signature = upstream === GEMINI ? undefined : sign(value)
    parts.push(reasoningPart({ texts: [thought], signature }))
  }
  if (text !== undefined) parts.push(textPart(text))
  for (const [index, { id: callId, name, input }] of calls.entries()) {
    const signature = upstream === GEMINI && index === 0 ? sign('UzI=') : undefined
    parts.push(call(callId, { name, input, signature }))
  }
  const finish = { reason: 'tool-calls', stopSequence: undefined, message: undefined } as const
  const candidates = [{ index: 0, parts, finish, logprobs: [] }]
  return { id: 'a', model: 'm', candidates, usage: undefined, serviceTier: undefined }
}

/** What the upstream is sent of its own answer, which the caller got in their own format and sends back with results. */
function sentBack(
  upstream: Format,
  caller: Format,
  way: 'whole' | 'streamed',
  response: GenerationResponse,
): GenerationRequest {
  const { first, second } = CALLERS[caller]
  const context = replyContext(caller, first)
  const reply =
    way === 'whole'
      ? CODECS[caller].encodeResponse(response, context)
      : assembled(caller, runMachine(CODECS[caller].createStreamEncoder(context), replay(response)).join(''))
  const turn = parse(second(parse(reply)))
  const request = CODECS[caller].decodeRequest(turn, { model: 'm', stream: false })
  const { body } = lowerRequest(request, CODECS[upstream], UPSTREAMS[upstream], USUAL_HABITS)
  return CODECS[upstream].decodeRequest(parse(body), { model: 'm', stream: false })
}

function parse(body: JsonObject): JsonObject {
  return parseExactObject(JSON.stringify(body)) ?? {}
}

function heard(parts: readonly Part[]) {
  return {
    thoughts: parts.flatMap(part =>
      part.type === 'reasoning' && part.signature !== undefined
        ? [{ text: part.texts.join('\n\n'), signature: part.signature.value }]
        : [],
    ),
    text: parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join(''),
    calls: parts.flatMap(part =>
      part.type === 'tool-call'
        ? [{ id: part.callId, name: part.name, input: exact(part.input), signature: part.signature?.value }]
        : [],
    ),
  }
}

const PAIRS = FORMATS.flatMap(upstream =>
  FORMATS.filter(caller => caller !== upstream).flatMap(caller =>
    (['whole', 'streamed'] as const).map(way => [upstream, caller, way] as const),
  ),
)

test.each(PAIRS)(
  'an answer of %s comes back from a caller of %s, who got it %s, with its thoughts, signatures, text, calls and their results',
  (upstream, caller, way) => {
    fc.assert(
      fc.property(said, what => {
        const response = answerOf(upstream, what)
        const [, ...turns] = sentBack(upstream, caller, way, response).turns
        const parts = turns.flatMap(turn => turn.parts)
        expect(heard(parts)).toEqual(heard(response.candidates[0]?.parts ?? []))
        const results = parts.flatMap(part => (part.type === 'tool-result' ? [part.callId] : []))
        expect(results).toEqual(what.calls.map(({ id }) => id))
      }),
      { numRuns: 100 },
    )
  },
)
