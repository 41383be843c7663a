import { describe, expect, test } from 'bun:test'
import { channelOf, modelOf, routeOf } from '#tests/support/channels.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import { prepare } from '@/exchange/attempt/preparation.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { JsonObject } from '@/json/json.ts'

const OPTIONS = {
  answers: 1,
  requestId: 'request',
  now: 0,
  newId: () => 'id',
  strict: false,
  goesOn: false,
}

function promptOf(surface: ConversationSurface, json: JsonObject): Prompt {
  const body = { bytes: Buffer.from(JSON.stringify(json)), json }
  return new Prompt({ surface, body, model: 'm', stream: false, framing: 'sse', headers: new Headers() })
}

/** What a Chat upstream at this host is sent of a Chat caller's message, and what is named as lost. */
function handedOn(vendor: string, message: JsonObject, strict = false) {
  const json = { model: 'm', messages: [{ role: 'user', content: 'q' }, message] }
  const prompt = promptOf('chat', json)
  const route = routeOf(channelOf(1, { baseUrl: `https://${vendor}/v1`, vendor }))
  const model = modelOf('m', { routes: [route] })
  const { body, losses } = prepare(prompt, model, route, { ...OPTIONS, strict })
  return { message: JSON.parse(new TextDecoder().decode(body)).messages[1], losses }
}

describe('thoughts that a Chat caller sends back, which are handed on with the rest of the body', () => {
  const said = { role: 'assistant', content: 'a' }
  const thought = { ...said, reasoning_content: 't' }
  const LOST = ['messages.reasoning_content']

  test.each([
    ['api.mistral.ai', thought, said, LOST],
    ['api.mistral.ai', { ...said, reasoning_content: '' }, said, []],
    ['api.mistral.ai', said, said, []],
    ['api.groq.com', thought, { ...said, reasoning: 't' }, []],
    ['api.groq.com', { ...said, reasoning_details: [{ type: 'reasoning.text', text: 't' }] }, said, LOST],
    ['api.deepseek.com', thought, thought, []],
  ])('are named as lost where %s would refuse them: %j', (vendor, message, sent, losses) => {
    expect(handedOn(vendor, message)).toEqual({ message: sent, losses })
  })

  test('are a 400 in place of a loss in strict mode', () => {
    expect(() => handedOn('api.mistral.ai', thought, true)).toThrow('messages.reasoning_content')
    expect(handedOn('api.deepseek.com', thought, true).losses).toEqual([])
  })
})

test('thoughts that an upstream could not read are named as lost by a conversion as well', () => {
  const json = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'q' }] }
  const prompt = promptOf('messages', json)
  const route = routeOf(channelOf(1))
  const lossesOf = () => prepare(prompt, modelOf('m', { routes: [route] }), route, OPTIONS).losses
  expect(lossesOf()).toEqual([])
  prompt.withoutReasoning = true
  expect(lossesOf()).toEqual(['messages.content.thinking'])
})
