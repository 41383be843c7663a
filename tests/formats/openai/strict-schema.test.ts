import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import type { Target } from '@/formats/codec.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { asObject, type JsonObject } from '@/json/json.ts'

const OPENAI_FORMATS = ['openai-chat-completions', 'openai-responses'] as const

const text = { type: 'string' }
const open = (properties: JsonObject, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})
const closed = (properties: JsonObject) => ({ ...open(properties), additionalProperties: false })
const nested = (levels: number): JsonObject => (levels === 0 ? text : open({ a: nested(levels - 1) }))

/** What callers ask for in formats whose vendors hold every answer to its schema. */
const CALLERS = {
  'anthropic-messages': (schema: JsonObject) => ({
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'hi' }],
    output_config: { format: { type: 'json_schema', schema } },
  }),
  'gemini-generate-content': (schema: JsonObject) => ({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
  }),
} as const

const PAIRS = OPENAI_FORMATS.flatMap(to =>
  (['anthropic-messages', 'gemini-generate-content'] as const).map(from => [from, to] as const),
)

describe.each(PAIRS)('for a caller of %s, %s', (from, to) => {
  const asked = (schema: JsonObject, target: Partial<Target> = {}) => {
    const request = CODECS[from].decodeRequest(CALLERS[from](schema), { model: 'm', stream: false })
    const { body, losses } = lowerRequest(request, CODECS[to], { ...TARGETS[to], ...target }, USUAL_HABITS)
    const format = asObject(body['response_format'] ?? asObject(body['text'])?.['format'])
    const { schema: sent, strict } = asObject(format?.['json_schema']) ?? format ?? {}
    return { sent, strict, losses }
  }

  test.each<[string, JsonObject, JsonObject]>([
    ['is closed', closed({ a: text }), closed({ a: text })],
    [
      'can be closed',
      open({ a: { type: 'array', items: open({ b: { type: ['number', 'null'] } }) } }),
      closed({ a: { type: 'array', items: closed({ b: { type: ['number', 'null'] } }) } }),
    ],
    [
      'refers to its definitions, and has what may be missing',
      {
        ...open({ a: { anyOf: [{ $ref: '#/$defs/b' }, { type: 'null' }] } }),
        $defs: { b: open({ c: text }) },
      },
      {
        ...closed({ a: { anyOf: [{ $ref: '#/$defs/b' }, { type: 'null' }] } }),
        $defs: { b: closed({ c: text }) },
      },
    ],
    [
      'has properties that are called as keywords are',
      open({ type: { const: 'a' }, properties: open({ properties: open({ pattern: text }) }) }),
      closed({ type: { const: 'a' }, properties: closed({ properties: closed({ pattern: text }) }) }),
    ],
    [
      'is as deep as older models take it',
      nested(5),
      asObject(JSON.parse(JSON.stringify(nested(5)), close)) ?? {},
    ],
  ])('holds the answer to a schema that %s', (_, schema, sent) => {
    expect(asked(schema)).toEqual({ sent, strict: true, losses: [] })
  })

  test.each<[string, JsonObject]>([
    ['lets a property be left out', open({ a: text, b: text }, ['a'])],
    ['takes other properties', { ...open({ a: text }), additionalProperties: text }],
    ['says nothing of its properties', open({ a: { type: 'object' } })],
    ['has a limit that older models refuse', open({ a: { type: 'integer', minimum: 1 } })],
    [
      'has something beside a reference',
      { ...open({ a: { $ref: '#/$defs/b', title: 'A' } }), $defs: { b: text } },
    ],
    ['has two objects to choose from', open({ a: { anyOf: [open({ b: text }), open({ c: text })] } })],
    ['has a property of anything', open({ a: {} })],
    ['has a list of no kind', open({ a: { type: 'array', items: {} } })],
    ['wants an object of these', open({ a: { enum: [{ b: 1 }] } })],
    ['is deeper', nested(6)],
    ['is longer', open({ a: { type: 'string', description: 'x'.repeat(15_000) } })],
  ])('asks without holding the answer to a schema that %s: OpenAI may refuse it', (_, schema) => {
    const { sent, strict, losses } = asked(schema)
    expect({ sent, losses }).toEqual({ sent: schema, losses: [] })
    expect(strict).not.toBe(true)
  })

  test('says nothing of it to other vendors, whose rules are others', () => {
    const { sent, strict } = asked(open({ a: text }), { vendor: 'api.mistral.ai', model: 'mistral-large' })
    expect(sent).toEqual(open({ a: text }))
    expect(strict).not.toBe(true)
  })
})

/** A JSON reviver. */
function close(_key: string, value: unknown) {
  const object = typeof value === 'object' && value !== null && 'properties' in value
  return object ? { ...value, additionalProperties: false } : value
}
