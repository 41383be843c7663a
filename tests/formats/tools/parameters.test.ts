import { expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

/** What an upstream of OpenAI's is told of a tool that a caller of Messages declared with this schema. */
function told(format: 'openai-chat-completions' | 'openai-responses', input_schema: JsonObject) {
  const body = {
    max_tokens: 90,
    messages: [{ role: 'user', content: 'a' }],
    tools: [{ name: 'f', input_schema }],
  }
  const request = CODECS['anthropic-messages'].decodeRequest(body, { model: 'm', stream: false })
  const tool = asObject(
    asArray(lowerRequest(request, CODECS[format], TARGETS[format], USUAL_HABITS).body['tools'])[0],
  )
  return (asObject(tool?.['function']) ?? tool)?.['parameters']
}

const TEXT = { type: 'string' }

test.each<[string, JsonObject, JsonObject]>([
  ['an object without properties', { type: 'object' }, { type: 'object', properties: {} }],
  ['nothing', {}, { type: 'object', properties: {} }],
  ['properties without a type', { properties: { a: TEXT } }, { type: 'object', properties: { a: TEXT } }],
  [
    'a choice',
    { anyOf: [{ properties: { a: TEXT } }] },
    { type: 'object', properties: {}, anyOf: [{ properties: { a: TEXT } }] },
  ],
])('of %s OpenAI is told an object and its properties, which it insists on', (_, schema, expected) => {
  for (const format of ['openai-chat-completions', 'openai-responses'] as const)
    expect(told(format, schema)).toEqual(expected)
})
