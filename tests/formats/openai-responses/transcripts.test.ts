import { describe, expect, test } from 'bun:test'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import {
  dataOf,
  decodeContext,
  decodeStream,
  encodeStream,
  RECORDINGS,
  replyContext,
  sdkFinal,
} from './fixtures.ts'

describe.each(RECORDINGS)('recording %s', (_name, { request: wire, response, stream }) => {
  const text = encodeStream(decodeStream(stream), wire)
  const final = dataOf(text).at(-1)?.['response']

  test('is written whole as its stream ends', () => {
    if (response === undefined) return
    const whole = openaiResponses.decodeResponse(response, decodeContext())
    expect(openaiResponses.encodeResponse(whole, replyContext(wire))).toEqual(Object(final))
  })

  test('is accepted by the official SDK as it is written, which throws what failed', async () => {
    if (response === undefined)
      return await expect(sdkFinal(text)).rejects.toMatchObject(Object(final)['error'])
    const read = await sdkFinal(text)
    expect(read.status).toBe(Object(response)['status'])
    expect(JSON.parse(JSON.stringify(read.output))).toMatchObject(Object(final)['output'])
  })
})
