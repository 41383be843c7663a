import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decodeRequest, REQUEST_ID } from '#tests/transcripts/conversion.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { anyAnswer, WIRES } from './any-answer.ts'
import { oddInAnswer, oddInEvent } from './odd.ts'

describe.each(FORMATS)('every answer is one that strict clients of %s take', format => {
  const asked = fc.constantFrom(...WIRES[format])

  test('whole', () => {
    fc.assert(
      fc.property(anyAnswer, asked, (answer, wire) => {
        expect(oddInAnswer(format, whole(format, answer, wire))).toEqual([])
      }),
      { numRuns: 200, seed: 1 },
    )
  })

  test('as a stream', () => {
    fc.assert(
      fc.property(anyAnswer, asked, (answer, wire) => {
        expect(events(format, answer, wire).flatMap(event => oddInEvent(format, event))).toEqual([])
      }),
      { numRuns: 100, seed: 1 },
    )
  })
})

/** As it goes over the wire. */
function whole(format: Format, answer: GenerationResponse, wire: JsonObject): JsonObject {
  const told = CODECS[format].alwaysTellsUsage ? { ...answer, usage: answer.usage ?? NO_USAGE } : answer
  return parseObject(JSON.stringify(CODECS[format].encodeResponse(told, contextOf(format, wire)))) ?? {}
}

function events(format: Format, answer: GenerationResponse, wire: JsonObject): JsonObject[] {
  const encoder = CODECS[format].createStreamEncoder(contextOf(format, wire))
  const lines = runMachine(encoder, replay(answer)).join('').split(/\r?\n/)
  return lines.filter(line => line.startsWith('data: {')).map(line => parseObject(line.slice(6)) ?? {})
}

function contextOf(format: Format, wire: JsonObject): ReplyContext {
  return {
    requestId: REQUEST_ID,
    createdAt: 1,
    model: 'm',
    request: decodeRequest(format, wire),
    wire,
    estimatedInputTokens: undefined,
  }
}
