import { describe, expect, test } from 'bun:test'
import { geminiGenerateContent } from '@/formats/gemini-generate-content/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

const OPENAI_FORMATS = ['openai-chat-completions', 'openai-responses'] as const

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

describe.each(OPENAI_FORMATS)('%s', format => {
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
