import { describe, expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import { asObject, type JsonObject } from '@/json/json.ts'

const OPENAI_FORMATS = ['openai-chat-completions', 'openai-responses'] as const
type OpenaiFormat = (typeof OPENAI_FORMATS)[number]

const text = { type: 'string' }
const closed = (properties: JsonObject, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const nested = (levels: number): JsonObject => (levels === 0 ? text : closed({ a: nested(levels - 1) }))

const CALLERS = {
  'anthropic-messages': (schema: JsonObject) => ({
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
    output_config: { format: { type: 'json_schema', schema } },
  }),
  'gemini-generate-content': (schema: JsonObject) => ({
    contents: [{ parts: [{ text: 'hi' }] }],
    generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
  }),
}

/** Whether the upstream is told to hold the model to the schema of an answer. */
function isStrict(
  from: keyof typeof CALLERS,
  to: OpenaiFormat,
  schema: JsonObject,
  vendor = 'api.openai.com',
) {
  const request = CODECS[from].decodeRequest(CALLERS[from](schema), { model: 'm', stream: false })
  const { body, losses } = CODECS[to].encodeRequest(request, {
    model: 'gpt-5.1',
    vendor,
    maxOutputTokens: undefined,
  })
  expect(losses).toEqual([])
  const asked =
    asObject(asObject(body['response_format'])?.['json_schema']) ??
    asObject(asObject(body['text'])?.['format'])
  expect(asked?.['schema']).toEqual(schema)
  return asked?.['strict'] === true
}

describe.each(OPENAI_FORMATS)('the schema of an answer at %s', to => {
  describe.each(['anthropic-messages', 'gemini-generate-content'] as const)('asked for as %s', from => {
    test.each<[string, JsonObject]>([
      [
        'is closed and requires all that it names',
        closed({ a: text, b: { anyOf: [text, { type: 'null' }] } }),
      ],
      [
        'refers to such an object',
        { ...closed({ a: { $ref: '#/$defs/x' } }), $defs: { x: closed({ b: text }) } },
      ],
      ['names a format that OpenAI knows', closed({ a: { ...text, format: 'date-time' } })],
      ['has properties that are called as keywords are', closed({ default: text, oneOf: text })],
      ['is as deep as may be', nested(10)],
    ])('is held to by OpenAI where it %s, as its own vendor does', (_, schema) => {
      expect(isStrict(from, to, schema)).toBe(true)
      expect(isStrict(from, to, schema, 'api.groq.com')).toBe(false)
    })

    test.each<[string, JsonObject]>([
      ['may lack a property', closed({ a: text, b: text }, ['a'])],
      ['is open', { type: 'object', properties: { a: text }, required: ['a'] }],
      ['has an open object within a list', closed({ a: { type: 'array', items: { type: 'object' } } })],
      ['has a default', closed({ a: { ...text, default: 'b' } })],
      ['names a format that OpenAI does not know', closed({ a: { ...text, format: 'uri' } })],
      ['has a choice of the other kind', closed({ a: { oneOf: [text, { type: 'null' }] } })],
      ['puts parts together', closed({ a: { allOf: [text] } })],
      ['is too deep', nested(11)],
    ])(
      'is followed as well as the model can where it %s, which OpenAI refuses to hold it to',
      (_, schema) => {
        expect(isStrict(from, to, schema)).toBe(false)
      },
    )
  })
})
