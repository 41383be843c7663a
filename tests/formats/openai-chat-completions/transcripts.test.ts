import { describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import { collect } from '@/generation/collect.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { asArray, asObject, asString } from '@/json/json.ts'
import {
  CASES,
  decodeBytes,
  decodeContext,
  decodeRequest,
  encodeEvents,
  recording,
  replyContext,
  targetOf,
} from './fixtures.ts'

describe.each(CASES)('%s', name => {
  test('is the same answer after it was written as a stream and read again', async () => {
    const { response, stream, request } = await recording(name)
    if (response === undefined) return
    const wire = { ...request, stream_options: { include_usage: true } }
    const answer = collect(decodeBytes([stream]))
    const written = encodeEvents(decodeBytes([stream]), wire)
    expect(wordsOf(collect(decodeBytes([Buffer.from(written)])))).toEqual(wordsOf(answer))
    expect(wordsOf(collect(decodeBytes([Buffer.from(encodeEvents(replay(answer), wire))])))).toEqual(
      wordsOf(answer),
    )
  })

  test('is the same answer after it was written whole and read again', async () => {
    const { response, request } = await recording(name)
    if (response === undefined) return
    const answer = openaiChatCompletions.decodeResponse(response, decodeContext())
    const written = openaiChatCompletions.encodeResponse(answer, replyContext(request))
    expect(wordsOf(openaiChatCompletions.decodeResponse(written, decodeContext()))).toEqual(wordsOf(answer))
  })

  test("OpenAI's SDK puts the written stream together to the same message as the whole answer", async () => {
    const { response, stream, request } = await recording(name)
    if (response === undefined || 'functions' in request) return
    const events = decodeBytes([stream])
    const whole = openaiChatCompletions.encodeResponse(collect(events), replyContext(request))
    const fetch = async () =>
      new Response(encodeEvents(events, request), { headers: { 'content-type': 'text/event-stream' } })
    const client = new OpenAI({ apiKey: 'k', baseURL: 'http://127.0.0.1/v1', fetch, maxRetries: 0 })
    const params: ChatCompletionCreateParamsStreaming = { model: 'm', stream: true, messages: [] }
    const final = await client.chat.completions.stream(params).finalChatCompletion()
    for (const [index, choice] of asArray(whole['choices']).entries()) {
      const message = asObject(asObject(choice)?.['message'])
      const read = final.choices[index]
      expect<unknown>(read?.message.content || null).toEqual(message?.['content'] || null)
      expect<unknown>(read?.message.refusal ?? null).toEqual(message?.['refusal'] ?? null)
      expect<unknown>(read?.finish_reason).toEqual(asObject(choice)?.['finish_reason'])
      const calls = read?.message.tool_calls ?? []
      expect<unknown>(calls.map(call => call.id)).toEqual(
        asArray(message?.['tool_calls']).map(call => asObject(call)?.['id']),
      )
    }
  })

  test('its request goes through the hub to a vendor of its own format without a change of meaning', async () => {
    const { request } = await recording(name)
    const decoded = decodeRequest(request)
    const target = targetOf(asString(request['model']) ?? 'm')
    const { body } = openaiChatCompletions.encodeRequest(decoded, target)
    expect(openaiChatCompletions.decodeRequest(body, { model: 'm', stream: true })).toEqual(decoded)
  })

  test('edge 90: its request gives the same bytes every time', async () => {
    const { request } = await recording(name)
    const encode = () =>
      JSON.stringify(openaiChatCompletions.encodeRequest(decodeRequest(request), targetOf('m')).body)
    expect(encode()).toBe(encode())
  })
})

/** An answer without what a gateway's reply says in its own name, and without who signed. */
function wordsOf(response: GenerationResponse) {
  const plain = JSON.stringify({ ...response, id: undefined, model: undefined }, (key, value) =>
    key === 'signature' || key === 'callId' || key === 'wire' ? undefined : value,
  )
  return JSON.parse(plain)
}
