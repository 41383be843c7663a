import { describe, expect, test } from 'bun:test'
import { reasoningPart, textPart } from '@/generation/part.ts'
import type { JsonObject } from '@/json/json.ts'
import { CALL, codec, target } from './fixtures.ts'

const BYPASS = 'skip_thought_signature_validator'

function call(id: string, thoughtSignature?: string): JsonObject {
  return { functionCall: { id, name: 'f', args: {} }, ...(thoughtSignature && { thoughtSignature }) }
}

function result(id: string): JsonObject {
  return { functionResponse: { id, name: 'f', response: { output: 'ok' } } }
}

function talk(...parts: JsonObject[][]): JsonObject {
  return { contents: parts.map((parts, index) => ({ role: index % 2 === 0 ? 'user' : 'model', parts })) }
}

describe('the stand-in for a signature', () => {
  const ways = [BYPASS, 'context_engineering_is_the_way_to_go']
  test.each([...ways, ...ways.map(btoa)])('%s of a caller is no signature', bypass => {
    const body = talk([{ text: 'hi' }], [call('a', bypass)], [result('a')])
    const { turns } = codec.decodeRequest(body, CALL)
    expect(turns[1]?.parts).toMatchObject([{ type: 'tool-call', signature: undefined }])
  })

  test('is written again where the model wants one', () => {
    const request = codec.decodeRequest(talk([{ text: 'hi' }], [call('a', BYPASS)], [result('a')]), CALL)
    const { body, losses } = codec.encodeRequest(request, target('gemini-3-pro'))
    expect(JSON.stringify(body)).toContain(`"thoughtSignature":"${BYPASS}"`)
    expect(losses).toEqual([])
  })

  test('is written for images that nobody signed, and the first part of a turn, where the model refuses them', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'UklGRgAA' } }
    const signed = { ...image, thoughtSignature: 'S2ln' }
    const asked = [{ text: 'draw' }, image]
    const body = talk(asked, [{ text: 'here' }, image, signed, { text: 'well' }], [{ text: 'again' }])
    const request = codec.decodeRequest(body, CALL)
    const contentsFor = (model: string) => codec.encodeRequest(request, target(model)).body['contents']
    expect(contentsFor('gemini-3-pro-image')).toMatchObject([
      { parts: asked },
      {
        parts: [
          { text: 'here', thoughtSignature: BYPASS },
          { ...image, thoughtSignature: BYPASS },
          signed,
          { text: 'well' },
        ],
      },
      { parts: [{ text: 'again' }] },
    ])
    expect(JSON.stringify(contentsFor('gemini-3-pro'))).not.toContain(BYPASS)
    expect(JSON.stringify(asked)).not.toContain(BYPASS)
  })

  test.each([
    ['says nothing', []],
    ['is a thought that Google is not told', [reasoningPart({ texts: ['Hm.'] })]],
  ])('an answer that %s does not end the turn that waits for it', (_, parts) => {
    const request = codec.decodeRequest(talk([{ text: 'hi' }], [call('a')], [result('a')]), CALL)
    const silent = { role: 'assistant', parts } as const
    const again = { role: 'user', parts: [textPart('and?')] } as const
    const { body } = codec.encodeRequest(
      { ...request, turns: [...request.turns, silent, again] },
      target('gemini-3-pro'),
    )
    expect(JSON.stringify(body)).toContain(BYPASS)
  })

  test('text beside a result does not begin a turn, so that the call before it has one', () => {
    const reminder = { text: 'The date has changed.' }
    const body = talk([{ text: 'hi' }], [call('a')], [result('a'), reminder], [call('b')], [result('b')])
    const encoded = codec.encodeRequest(codec.decodeRequest(body, CALL), target('gemini-3-pro'))
    expect(JSON.stringify(encoded.body).split(BYPASS)).toHaveLength(3)
  })
})
