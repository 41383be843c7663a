import { describe, expect, test } from 'bun:test'
import { collect } from '@/generation/collect.ts'
import { runMachine } from '@/generation/machine.ts'
import { createSseParser } from '@/sse/parser.ts'
import {
  CALL,
  CASES,
  codec,
  decodeBytes,
  decodeContext,
  replyContext,
  target,
  transcript,
} from './fixtures.ts'

describe.each(CASES)('recording %s', name => {
  const recorded = transcript(name)
  const events = decodeBytes([recorded.stream])

  test('survives its own encoder: what was decoded is decoded again', () => {
    const request = codec.decodeRequest(recorded.request, CALL)
    const text = runMachine(codec.createStreamEncoder(replyContext(request)), events).join('')
    const again = collect(decodeBytes([Buffer.from(text)]))
    const first = collect(events)
    expect(withoutNames(again)).toEqual(withoutNames(first))
    if (recorded.response === undefined) return
    const whole = codec.encodeResponse(first, replyContext(request))
    expect(withoutNames(codec.decodeResponse(whole, decodeContext()))).toEqual(withoutNames(first))
  })

  test('survives as a request: decoded and encoded it asks for the same, twice with the same bytes', () => {
    const request = codec.decodeRequest(recorded.request, CALL)
    const first = codec.encodeRequest(request, target('gemini-2.5-flash'))
    const again = codec.encodeRequest(codec.decodeRequest(recorded.request, CALL), target('gemini-2.5-flash'))
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body))
    expect(first.losses).toEqual([])
    expect(codec.decodeRequest(first.body, CALL)).toEqual(request)
  })

  test('every event that tells of usage, end or error is seen as telling', () => {
    for (const event of runMachine(createSseParser(), [recorded.stream])) {
      const telling = /usageMetadata|finishReason|promptFeedback|error/.test(event.data)
      expect(codec.isTelling(Buffer.from(`data: ${event.data}\r\n\r\n`))).toBe(telling)
    }
  })
})

/** The answer without what a gateway names itself: id, model, and the wrapping of signatures and sources. */
function withoutNames(response: ReturnType<typeof collect>): unknown {
  const plain = JSON.stringify({ ...response, id: undefined, model: undefined }, (key, value) =>
    key === 'signature' || key === 'wire' ? undefined : value,
  )
  return JSON.parse(plain)
}
