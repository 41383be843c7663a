import { expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
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
const CAT = { properties: { kind: { const: 'cat' }, name: TEXT }, required: ['kind'] }
const DOG = { properties: { kind: { const: 'dog' }, name: TEXT }, required: ['name', 'kind'] }
const NODE = { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } }

test.each<[string, JsonObject, JsonObject]>([
  ['an object without properties', { type: 'object' }, { type: 'object', properties: {} }],
  ['nothing', {}, { type: 'object', properties: {} }],
  ['properties without a type', { properties: { a: TEXT } }, { type: 'object', properties: { a: TEXT } }],
  ['a definition', { $ref: '#/$defs/Node', $defs: { Node: NODE } }, { ...NODE, $defs: { Node: NODE } }],
  [
    'a definition of a definition',
    { $ref: '#/definitions/A', definitions: { A: { $ref: '#/definitions/B' }, B: NODE } },
    { ...NODE, definitions: { A: { $ref: '#/definitions/B' }, B: NODE } },
  ],
  ['a definition of itself', { $ref: '#' }, { type: 'object', properties: {} }],
  [
    'a choice',
    {
      description: 'How.',
      anyOf: [{ properties: { a: TEXT }, required: ['a'] }, { properties: { b: TEXT } }],
    },
    {
      type: 'object',
      properties: { a: TEXT, b: TEXT },
      description:
        'How.\n\n{anyOf: [{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}',
    },
  ],
  [
    'a choice between definitions',
    { oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }], $defs: { Cat: CAT, Dog: DOG } },
    {
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'cat' }, { const: 'dog' }] }, name: TEXT },
      required: ['kind'],
      description: '{oneOf: [{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]}',
      $defs: { Cat: CAT, Dog: DOG },
    },
  ],
  [
    'several schemas at once',
    { allOf: [{ properties: { a: TEXT }, required: ['a'] }, { $ref: '#/$defs/Cat' }], $defs: { Cat: CAT } },
    {
      type: 'object',
      properties: { a: TEXT, ...CAT.properties },
      required: ['a', 'kind'],
      $defs: { Cat: CAT },
    },
  ],
])(
  'of %s OpenAI is told an object and its properties, which it insists on, and no reference or choice at the top',
  (_, schema, expected) => {
    for (const format of ['openai-chat-completions', 'openai-responses'] as const)
      expect(told(format, schema)).toEqual(expected)
  },
)

const NOTHING_SAID: Record<Format, JsonObject> = {
  'openai-chat-completions': {
    messages: [{ role: 'user', content: 'a' }],
    tools: [
      { type: 'function', function: { name: 'f', description: '' } },
      { type: 'custom', custom: { name: 'g', description: '' } },
    ],
  },
  'openai-responses': {
    input: 'a',
    tools: [
      { type: 'function', name: 'f', description: '' },
      { type: 'custom', name: 'g', description: '' },
      { type: 'namespace', name: 'n', description: '', tools: [{ name: 'h', description: '' }] },
    ],
  },
  'anthropic-messages': {
    max_tokens: 90,
    messages: [{ role: 'user', content: 'a' }],
    tools: [{ name: 'f', description: '', input_schema: { type: 'object' } }],
  },
  'gemini-generate-content': {
    contents: [{ parts: [{ text: 'a' }] }],
    tools: [{ functionDeclarations: [{ name: 'f', description: '' }] }],
  },
}

test.each(FORMATS)('%s: a tool whose description is empty has none', format => {
  const request = CODECS[format].decodeRequest(NOTHING_SAID[format], { model: 'm', stream: false })
  for (const to of FORMATS) {
    const { body } = lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS)
    expect(JSON.stringify(body['tools'])).not.toContain('"description":""')
  }
})
