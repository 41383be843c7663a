import { describe, expect, test } from 'bun:test'
import { decodeContext, replyContext } from '#tests/formats/openai-chat-completions/fixtures.ts'
import { call } from '#tests/formats/parts.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import { type Part, reasoningPart, textPart } from '@/generation/part.ts'
import type { Finish, GenerationResponse } from '@/generation/response.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

const END: Finish = { reason: 'end', stopSequence: undefined, message: undefined }

function answer(parts: readonly Part[], finish: Finish = END): GenerationResponse {
  const candidates = [{ index: 0, parts, finish, logprobs: [] }]
  return { id: 'up', model: 'up', candidates, usage: undefined, serviceTier: undefined }
}

/** The first choice of an answer with these parts. */
function choiceOf(parts: readonly Part[], wire?: JsonObject, finish?: Finish): JsonObject {
  const body = openaiChatCompletions.encodeResponse(answer(parts, finish), replyContext(wire))
  return asObject(asArray(body['choices'])[0]) ?? {}
}

describe('a whole answer', () => {
  test("is the gateway's own reply", () => {
    expect(openaiChatCompletions.encodeResponse(answer([textPart('Hi')]), replyContext())).toEqual({
      id: 'chatcmpl-0198c0de000070008000000000000001',
      object: 'chat.completion',
      created: 1_763_650_800,
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
    })
  })

  test('without text beside calls has null content, without anything an empty one', () => {
    expect(asObject(choiceOf([call('a')])['message'])?.['content']).toBeNull()
    expect(asObject(choiceOf([])['message'])?.['content']).toBe('')
  })

  test('that was cut off in thought has an empty content, as its stream has', () => {
    const thought = reasoningPart({ texts: ['hm'] })
    const choice = choiceOf([thought], {}, { ...END, reason: 'length' })
    expect(choice).toMatchObject({ message: { content: '' }, finish_reason: 'length' })
  })

  test('has its thoughts in reasoning, too, for a caller of OpenRouter', () => {
    const parts = [reasoningPart({ texts: ['hm'] }), textPart('Hi')]
    const { message } = choiceOf(parts, { reasoning: { effort: 'low' } })
    expect(message).toMatchObject({ reasoning_content: 'hm', reasoning: 'hm' })
    expect(choiceOf(parts)['message']).not.toHaveProperty('reasoning')
  })

  test('counts the places of its sources from where all of its text begins', () => {
    const cited = { url: 'https://a.example', title: 'A', citedText: 'c', start: 1, end: 2, wire: undefined }
    const { message } = choiceOf([textPart('ab'), { ...textPart('bc'), citations: [cited] }])
    expect(message).toMatchObject({
      content: 'abbc',
      annotations: [{ url_citation: { start_index: 3, end_index: 4 } }],
    })
  })

  test('never has an empty string of arguments', () => {
    expect(choiceOf([call('a', { input: '' })])).toMatchObject({
      message: { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      finish_reason: 'tool_calls',
    })
  })

  test('has function_call for a caller who speaks of functions', () => {
    const choice = choiceOf([call('a', { input: '{"x":1}' })], { functions: [{ name: 'f' }] })
    expect(choice).toMatchObject({
      message: { function_call: { name: 'f', arguments: '{"x":1}' } },
      finish_reason: 'function_call',
    })
    expect(choice['message']).not.toHaveProperty('tool_calls')
  })

  test('that was refused in words says stop, that was stopped says content_filter', () => {
    const finish: Finish = { ...END, reason: 'refusal' }
    expect(choiceOf([{ type: 'refusal', text: 'No.' }], {}, finish)).toMatchObject({
      message: { content: null, refusal: 'No.' },
      finish_reason: 'stop',
    })
    expect(choiceOf([textPart('No')], {}, finish)['finish_reason']).toBe('content_filter')
  })
})

describe('an answer that is none is thrown', () => {
  test.each([
    [{ error: { message: 'slow down', code: 429 } }, 'slow down'],
    [{ detail: 'not here' }, 'not here'],
    [{ hello: 'world' }, 'not a chat completion'],
  ])('%j', (body, message) => {
    const decode = () => openaiChatCompletions.decodeResponse(body, decodeContext())
    expect(decode).toThrow(GatewayError)
    expect(decode).toThrow(message)
  })
})

test('an answer without a finish reason is read by what it holds', () => {
  const body = { choices: [{ index: 0, message: { content: 'a' }, finish_reason: null }] }
  expect(openaiChatCompletions.decodeResponse(body, decodeContext()).candidates[0]?.finish.reason).toBe('end')
})
