import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { TARGETS } from '#tests/transcripts/conversion.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { HOSTILE } from './hostile-requests.ts'
import { refusedByOpenai } from './openai.ts'

const OPENAI_FORMATS = ['openai-chat-completions', 'openai-responses'] as const

describe.each(OPENAI_FORMATS)('OpenAI takes every %s request that is written', to => {
  test.each(FORMATS)('for a caller of %s', from => {
    fc.assert(
      fc.property(
        HOSTILE[from],
        fc.boolean(),
        fc.constantFrom('gpt-5.1', 'gpt-4.1', 'gpt-5.6'),
        (...said) => {
          expect(refusedByOpenai(to, written(from, to, ...said))).toEqual([])
        },
      ),
      { numRuns: 150 },
    )
  })
})

/** As it goes over the wire; what cannot be said is refused here, and no request. */
function written(
  from: Format,
  to: (typeof OPENAI_FORMATS)[number],
  body: JsonObject,
  functionToolsOnly: boolean,
  model: string,
): JsonObject {
  try {
    const wire = parseObject(JSON.stringify(body)) ?? {}
    const request = CODECS[from].decodeRequest(wire, { model: 'm', stream: true })
    const target = { ...TARGETS[to], model }
    const lowered = lowerRequest(request, CODECS[to], target, { functionToolsOnly, thinkTags: undefined })
    return parseObject(JSON.stringify(lowered.body)) ?? {}
  } catch (error) {
    if (error instanceof GatewayError) fc.pre(false)
    throw error
  }
}
