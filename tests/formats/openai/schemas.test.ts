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
    ['has a list of anything', closed({ a: { type: 'array' } })],
    ['puts parts together', closed({ a: { allOf: [closed({ b: text })] } })],
  ])('is strict no more, which its caller is told, where it %s: OpenAI would refuse it', (_, schema) => {
    const { sent, losses } = lower(to, schema)
    expect(sent).toContain('"strict":false')
    expect(losses).toEqual(['tools.strict'])
  })
})

/** What only some of Claude Code's and of MCP servers' tools say, and OpenAI answers with a 400 for the whole request. */
const REFUSED: readonly [string, JsonObject, JsonObject][] = [
  [
    'a pattern that Python cannot compile',
    { ...text, pattern: '^[^\\p{Cc}"]{1,200}$' },
    { ...text, description: '{pattern: "^[^\\\\p{Cc}\\"]{1,200}$"}' },
  ],
  [
    'a pattern that looks around',
    { ...text, description: 'A name.', pattern: '^(?!__)\\w+$' },
    { ...text, description: 'A name.\n\n{pattern: "^(?!__)\\\\w+$"}' },
  ],
  [
    'a pattern with a range up to a class',
    { pattern: '^[\\w-.]+@' },
    { description: '{pattern: "^[\\\\w-.]+@"}' },
  ],
  [
    'names of such a pattern',
    { type: 'object', patternProperties: { '^(?<x>a)': text } },
    { type: 'object', description: '{patternProperties: {"^(?<x>a)":{"type":"string"}}}' },
  ],
  ['a list of anything', { type: 'array' }, { type: 'array', items: {} }],
  ['a list or nothing', { type: ['array', 'null'], items: true }, { type: ['array', 'null'], items: {} }],
  [
    'a list of these in turn',
    { type: 'array', items: [text, { pattern: '\\z' }] },
    { type: 'array', prefixItems: [text, { description: '{pattern: "\\\\z"}' }], items: {} },
  ],
]

/** Where in a schema another one may stand. */
const PLACES: readonly ((inner: JsonObject) => JsonObject)[] = [
  inner => ({ type: 'object', properties: { pattern: inner } }),
  inner => ({ type: 'object', properties: { a: { type: 'array', items: inner } } }),
  inner => ({ type: 'object', properties: { a: { anyOf: [text, inner] } } }),
  inner => ({ type: 'object', properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: inner } }),
  inner => ({ type: 'object', properties: {}, additionalProperties: inner }),
]

describe.each(OPENAI_FORMATS)('a schema for %s', to => {
  const sent = (schema: JsonObject, strict: boolean | undefined) => {
    const request = CODECS['anthropic-messages'].decodeRequest(
      {
        max_tokens: 2000,
        messages: [{ role: 'user', content: 'hi' }],
        tools: [{ name: 'f', input_schema: schema }],
        output_config: { format: { type: 'json_schema', schema } },
      },
      { model: 'm', stream: false },
    )
    const output = request.output?.type === 'json-schema' ? { ...request.output, strict } : undefined
    const { body, losses } = lowerRequest({ ...request, output }, CODECS[to], TARGETS[to], USUAL_HABITS)
    const tool = asObject(asArray(body['tools'])[0])
    const asked = asObject(body['response_format'] ?? asObject(body['text'])?.['format'])
    return {
      parameters: (asObject(tool?.['function']) ?? tool)?.['parameters'],
      output: (asObject(asked?.['json_schema']) ?? asked)?.['schema'],
      losses,
    }
  }

  test.each(REFUSED)('says otherwise what OpenAI refuses of any tool: %s', (_, inner, told) => {
    for (const place of PLACES) {
      const asked = place(told)
      expect(sent(place(inner), undefined)).toEqual({ parameters: asked, output: asked, losses: [] })
    }
  })

  test('goes on as it is where its caller wants the answer held to it', () => {
    for (const place of PLACES) {
      const schema = place({ pattern: '(?=a)' })
      expect(sent(schema, true).output).toEqual(schema)
    }
  })

  test.each([
    '^[a-zA-Z0-9_-]{1,64}$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^(?:[\\w.-]+|\\u0041\\x41)$',
    '^https?:\\/\\/[^\\s]+$',
    '^#([0-9a-f]{3}){1,2}$',
    '\\S',
  ])('keeps the pattern %p, and what only looks like one', pattern => {
    const schema = closed({ a: { ...text, pattern }, b: { enum: [{ pattern: '(?=a)' }] }, items: text })
    expect(sent(schema, undefined)).toEqual({ parameters: schema, output: schema, losses: [] })
  })
})

describe('the schema of a tool for a vendor or server of Chat that makes a grammar of it', () => {
  const sent = (pattern: string) => {
    const schema = closed({ a: { type: 'array', items: { ...text, pattern } } })
    const body = { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
    const request = CODECS['anthropic-messages'].decodeRequest(
      { ...body, tools: [{ name: 'f', input_schema: schema }] },
      { model: 'm', stream: false },
    )
    const target = { ...TARGETS['openai-chat-completions'], vendor: 'localhost:8080', model: 'qwen3.5-35b' }
    const lowered = lowerRequest(request, CODECS['openai-chat-completions'], target, USUAL_HABITS)
    const tool = asObject(asObject(asArray(lowered.body['tools'])[0])?.['function'])
    return asObject(asObject(asObject(tool?.['parameters'])?.['properties'])?.['a'])?.['items']
  }

  test.each(['^(?!__)[^\\p{Cc}]+$', '\\S', '^a', '^[\\w\\-]+$', '^[a-z\\/]+$'])(
    'says the pattern %p, for which the whole request would be refused, in words',
    pattern => {
      expect(sent(pattern)).toEqual({ ...text, description: `{pattern: ${JSON.stringify(pattern)}}` })
    },
  )

  test.each(['^[a-zA-Z0-9_-]{1,64}$', '^\\d{4}-\\d{2}$', '^a\\.b$'])('keeps the pattern %p', pattern => {
    expect(sent(pattern)).toEqual({ ...text, pattern })
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
        ['bedrock-mantle.us-east-1.api.aws', 'openai.gpt-5.5'],
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
      [array, 'api.together.xyz', 'deepseek-ai/DeepSeek-V3.1'],
      [array, 'openrouter.ai', 'openai/gpt-oss-120b'],
    ] as const) {
      const { system, asked, losses } = encode(format, schema, vendor, model)
      expect(system).toBe('Be brief.')
      expect(asked).toMatchObject({ type: 'json_schema' })
      expect(losses).toEqual([])
    }
  })
})

describe.each(OPENAI_FORMATS)('any JSON, as %s asks for it', format => {
  const JSON_ASKED = 'Reply with one valid JSON object and nothing else: no prose, no code fence.'

  /** Where OpenAI looks for the word: at Responses in the input alone. */
  function prompt(system: string, contents: JsonObject[]): string {
    const wire = {
      systemInstruction: { parts: [{ text: system }] },
      contents,
      generationConfig: { responseMimeType: 'application/json' },
    }
    const request = geminiGenerateContent.decodeRequest(wire, { model: 'm', stream: false })
    const { body, losses } = lowerRequest(request, CODECS[format], TARGETS[format], USUAL_HABITS)
    expect(body['response_format'] ?? asObject(body['text'])?.['format']).toEqual({ type: 'json_object' })
    expect(losses).toEqual([])
    return JSON.stringify(body['messages'] ?? body['input'])
  }

  const says = (...parts: JsonObject[]) => [{ role: 'user', parts }]

  test('is asked for in words where nobody else says the word, without which OpenAI refuses it', () => {
    expect(prompt('Be brief.', says({ text: 'Three colours' }))).toMatch(
      new RegExp(`Be brief.*${JSON_ASKED}.*Three colours`),
    )
  })

  test.each<[string, string, JsonObject[]]>([
    ['the system prompt', 'Answer in Json.', says({ text: 'Three colours' })],
    ['the user', 'Be brief.', says({ text: 'Three colours as JSON' })],
    [
      'a result',
      'Be brief.',
      [
        { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
        ...says({ functionResponse: { name: 'f', response: { output: 'write json' } } }),
      ],
    ],
  ])('is asked for as it is where %s says the word', (_, system, contents) => {
    expect(prompt(system, contents)).toMatch(/json/i)
    expect(prompt(system, contents)).not.toContain(JSON_ASKED)
  })
})
