import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { geminiGenerateContent } from '@/formats/gemini-generate-content/codec.ts'
import { nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

const OPENAI_FORMATS = ['openai-chat-completions', 'openai-responses'] as const

const closed = (properties: JsonObject, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const text = { type: 'string' }

/** What OpenAI is sent for a strict tool of a caller of Messages, and what that caller is told. */
function lower(to: (typeof OPENAI_FORMATS)[number], input_schema: JsonObject) {
  const caller = CODECS['anthropic-messages']
  const body = {
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ name: 'f', strict: true, input_schema }],
  }
  const request = caller.decodeRequest(body, { model: 'm', stream: false })
  const lowered = lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS)
  return { sent: JSON.stringify(lowered.body['tools']), losses: nameLosses(lowered.losses, caller, body) }
}

describe.each(OPENAI_FORMATS)('a strict tool for %s', to => {
  test.each<[string, JsonObject]>([
    ['requires all that it names', closed({ a: text, b: { anyOf: [text, { type: 'null' }] } })],
    ['takes no arguments', closed({})],
    [
      'has arguments that are called as keywords are',
      closed({ allOf: text, properties: closed({ a: text }) }),
    ],
  ])('stays strict where it %s', (_, schema) => {
    const { sent, losses } = lower(to, schema)
    expect(sent).toContain('"strict":true')
    expect(losses).toEqual([])
  })

  test.each<[string, JsonObject]>([
    ['may be called without an argument', closed({ a: text, b: text }, ['a'])],
    ['has such an object within a list', closed({ a: { type: 'array', items: closed({ b: text }, []) } })],
    ['has such an object among others', closed({ a: { anyOf: [text, closed({ b: text }, [])] } })],
    [
      'refers to such an object',
      { ...closed({ a: { $ref: '#/$defs/x' } }), $defs: { x: closed({ b: text }, []) } },
    ],
    [
      'refers to such an object as older schemas do',
      { ...closed({ a: { $ref: '#/definitions/x' } }), definitions: { x: closed({ b: text }, []) } },
    ],
    ['has a default', closed({ a: { ...text, default: 'b' } })],
    ['wants an address', closed({ a: { ...text, format: 'uri' } })],
    ['puts parts together', closed({ a: { allOf: [closed({ b: text })] } })],
  ])('is strict no more, which its caller is told, where it %s: OpenAI would refuse it', (_, schema) => {
    const { sent, losses } = lower(to, schema)
    expect(sent).toContain('"strict":false')
    expect(losses).toEqual(['tools.strict'])
  })
})

/** What a Gemini caller's wish for an answer of this schema becomes. */
function encode(format: (typeof OPENAI_FORMATS)[number], schema: JsonObject, vendor: string, model: string) {
  const wire = {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [{ role: 'user', parts: [{ text: 'Three colours' }] }],
    generationConfig: { responseMimeType: 'application/json', ...schemaField(schema) },
  }
  const request = geminiGenerateContent.decodeRequest(wire, { model: 'm', stream: false })
  const target = { model, vendor, maxOutputTokens: undefined }
  const { body, losses } = CODECS[format].encodeRequest(request, target)
  return {
    system: body['instructions'] ?? asObject(asArray(body['messages'])[0])?.['content'],
    asked: body['response_format'] ?? asObject(body['text'])?.['format'],
    losses: losses.map(({ field }) => field),
  }
}

/** Gemini's own schemas have no references. */
function schemaField(schema: JsonObject): JsonObject {
  return schema['$ref'] === undefined ? { responseSchema: schema } : { responseJsonSchema: schema }
}

describe.each(OPENAI_FORMATS)('the schema of an answer, as %s asks for it', format => {
  test.each<[string, JsonObject]>([
    ['JSON array', { type: 'ARRAY', items: { type: 'STRING' } }],
    ['JSON value', { type: 'STRING', enum: ['red', 'green'] }],
    ['JSON value', { anyOf: [{ type: 'OBJECT' }, { type: 'ARRAY' }] }],
  ])(
    'OpenAI, which refuses the schema of anything but an object, is asked for a %s in words',
    (name, schema) => {
      for (const [vendor, model] of [
        ['api.openai.com', 'gpt-5.1'],
        ['mine.openai.azure.com', 'my-deployment'],
        ['openrouter.ai', 'openai/gpt-5.1'],
      ] as const) {
        const { system, asked, losses } = encode(format, schema, vendor, model)
        expect(asked).toBeUndefined()
        expect(losses).toEqual(['output'])
        expect(system).toStartWith(`Be brief.\n\nReply with one valid ${name} and nothing else`)
        expect(system).toContain('It must fit this JSON Schema:\n{"')
      }
    },
  )

  test('a schema whose root refers to a definition has that for its root, which OpenAI asks for', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } }
    const { asked, losses } = encode(
      format,
      { $ref: '#/$defs/Node', $defs: { Node: node } },
      'api.openai.com',
      'gpt-5.1',
    )
    const wish = asObject(asked)
    const schema = (asObject(wish?.['json_schema']) ?? wish)?.['schema']
    expect(schema).toEqual({ ...node, $defs: { Node: node } })
    expect(losses).toEqual([])
  })

  test('its schema of an object is asked for as it is, and so is any schema of another vendor', () => {
    const object = { type: 'OBJECT', properties: { a: { type: 'STRING' } } }
    const array = { type: 'ARRAY', items: { type: 'STRING' } }
    for (const [schema, vendor, model] of [
      [object, 'api.openai.com', 'gpt-5.1'],
      [array, 'api.deepseek.com', 'deepseek-chat'],
      [array, 'openrouter.ai', 'openai/gpt-oss-120b'],
    ] as const) {
      const { system, asked, losses } = encode(format, schema, vendor, model)
      expect(system).toBe('Be brief.')
      expect(asked).toMatchObject({ type: 'json_schema' })
      expect(losses).toEqual([])
    }
  })
})
