import { describe, expect, test } from 'bun:test'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import { collect } from '@/generation/collect.ts'
import { replay } from '@/generation/replay.ts'
import {
  CASES,
  dataOf,
  decodeContext,
  decodeStream,
  encodeStream,
  recording,
  replyContext,
  request,
  sdkFinal,
} from './support.ts'

describe.each(CASES)('recording %s', name => {
  test('its request decodes, and encodes to the same bytes each time', async () => {
    const { request: wire } = await recording(name)
    const target = { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined }
    const first = openaiResponses.encodeRequest(request(wire), target)
    expect(JSON.stringify(openaiResponses.encodeRequest(request(structuredClone(wire)), target))).toBe(
      JSON.stringify(first),
    )
  })

  test('through the hub and back, stream and whole answer agree', async () => {
    const { request: wire, response, stream } = await recording(name)
    if (response === undefined) return
    const text = encodeStream(decodeStream(stream), wire)
    const final = dataOf(text).at(-1)?.['response']
    const whole = openaiResponses.decodeResponse(response, decodeContext())
    expect(openaiResponses.encodeResponse(whole, replyContext(wire))).toEqual(Object(final))
    const again = collect(decodeStream(Buffer.from(text)))
    expect(again.candidates[0]?.finish).toEqual(whole.candidates[0]?.finish)
    expect(again.usage).toEqual(whole.usage)
    expect(collect(replay(again))).toEqual(again)
  })

  test('the official SDK accepts what is written', async () => {
    const { request: wire, response, stream } = await recording(name)
    const text = encodeStream(decodeStream(stream), wire)
    const final = dataOf(text).at(-1)?.['response']
    const read = await sdkFinal(text)
    expect(read.status).toBe(response === undefined ? 'failed' : Object(response)['status'])
    expect(JSON.parse(JSON.stringify(read.output))).toMatchObject(Object(final)['output'])
  })
})
