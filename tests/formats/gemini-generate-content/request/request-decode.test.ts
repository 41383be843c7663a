import { describe, expect, test } from 'bun:test'
import { CALL, codec, parse } from '#tests/formats/gemini-generate-content/fixtures.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asObject, type JsonObject } from '@/json/json.ts'

const HI = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }

function decode(body: JsonObject): GenerationRequest {
  return codec.decodeRequest(body, CALL)
}

/** The turns of a conversation of these contents. */
function turns(...contents: JsonObject[]): GenerationRequest['turns'] {
  return decode({ contents }).turns
}

function complaint(body: JsonObject): GatewayError {
  try {
    decode(body)
  } catch (error) {
    if (error instanceof GatewayError) return error
  }
  throw new Error('was accepted')
}

describe('edge 73: spellings of keys and roles', () => {
  test('snake_case keys are read, and user data is left alone', () => {
    const data = { user_id: 1, max_output_tokens: 2 }
    const request = decode({
      system_instruction: { role: 'system', parts: [{ text: 'Be brief.' }] },
      contents: [
        { parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
        { role: 'model', parts: [{ function_call: { name: 'f', args: data } }] },
        { role: 'user', parts: [{ function_response: { name: 'f', response: data } }] },
      ],
      tools: [
        {
          function_declarations: [{ name: 'f', parameters_json_schema: { properties: data } }],
          google_search: {},
        },
      ],
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } },
      generation_config: {
        max_output_tokens: 9,
        stop_sequences: ['x'],
        top_k: 3,
        thinking_config: { include_thoughts: true, thinking_budget: 100 },
        speech_config: { language_code: 'el' },
      },
      safety_settings: [{ category: 'C', threshold: 'T' }],
      labels: { team_name: 'a' },
    })
    expect(request).toMatchObject({
      instructions: [{ text: 'Be brief.' }],
      turns: [
        { role: 'user', parts: [{ type: 'media', kind: 'image', mediaType: 'image/png' }] },
        { role: 'assistant', parts: [{ type: 'tool-call', input: JSON.stringify(data) }] },
        { role: 'user', parts: [{ type: 'tool-result', content: [{ text: JSON.stringify(data) }] }] },
      ],
      tools: [
        { type: 'function', parameters: { properties: data } },
        { type: 'hosted', kind: 'web_search', wireType: 'googleSearch' },
      ],
      toolChoice: { type: 'tool', name: 'f' },
      maxOutputTokens: 9,
      stop: ['x'],
      topK: 3,
      reasoning: { effort: undefined, budgetTokens: 100, summary: 'auto' },
      extensions: {
        'gemini-generate-content': {
          safetySettings: [{ category: 'C', threshold: 'T' }],
          labels: { team_name: 'a' },
          'generationConfig.speechConfig': { languageCode: 'el' },
        },
      },
    })
  })

  test('roles in capitals are roles', () => {
    const decoded = turns({ role: 'USER', parts: [{ text: 'a' }] }, { role: 'MODEL', parts: [{ text: 'b' }] })
    expect(decoded.map(turn => turn.role)).toEqual(['user', 'assistant'])
  })

  test('a role that there is not is refused in words', () => {
    const { message } = complaint({ contents: [{ role: 'assistant', parts: [{ text: 'a' }] }] })
    expect(message).toBe(
      "Invalid value for 'contents[0].role': expected 'user' or 'model' or 'function' or ''",
    )
  })

  test('a missing role and the role function are the user', () => {
    const decoded = turns(
      { parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      { role: 'function', parts: [{ functionResponse: { name: 'f', response: { result: 'r' } } }] },
    )
    expect(decoded.map(turn => turn.role)).toEqual(['user', 'assistant', 'user'])
    expect(decoded[2]?.parts).toMatchObject([{ type: 'tool-result', name: 'f', content: [{ text: 'r' }] }])
  })

  test.each([
    ['text', 'Be brief.'],
    ['a part', { text: 'Be brief.' }],
    ['a content without a role', { parts: [{ text: 'Be brief.' }] }],
    ['a content of a user', { role: 'user', parts: [{ text: 'Be brief.' }, { text: '' }] }],
  ])('systemInstruction as %s', (_, systemInstruction) => {
    expect(decode({ ...HI, systemInstruction }).instructions.map(part => part.text)).toEqual(['Be brief.'])
  })

  test("a single item stands for a list of it, as in Google's own examples", () => {
    const request = decode({
      system_instruction: { parts: { text: 'Be brief.' } },
      contents: { parts: { text: 'hi' } },
      tools: {
        function_declarations: { name: 'f', parameters: { properties: { parts: { type: 'OBJECT' } } } },
      },
    })
    expect(request).toMatchObject({
      instructions: [{ text: 'Be brief.' }],
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
      tools: [{ name: 'f', parameters: { properties: { parts: { type: 'object' } } } }],
    })
  })

  test('numbers as texts and an empty role are read as proto JSON reads them', () => {
    const request = decode({
      contents: [{ role: '', parts: [{ text: '40' }] }],
      generationConfig: {
        temperature: '0.5',
        top_p: '9e-1',
        topK: '40',
        maxOutputTokens: '100',
        candidateCount: '2',
        seed: '-5',
        thinkingConfig: { thinkingBudget: '1024' },
      },
      tools: { functionDeclarations: { name: 'f', parameters: { type: 'OBJECT', default: { seed: '5' } } } },
    })
    expect(request).toMatchObject({
      turns: [{ role: 'user', parts: [{ type: 'text', text: '40' }] }],
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 100,
      candidates: 2,
      seed: -5,
      reasoning: { budgetTokens: 1024 },
      tools: [{ parameters: { default: { seed: '5' } } }],
    })
    expect(() => decode({ ...HI, generationConfig: { topK: 'many' } })).toThrow('generationConfig.topK')
    expect(() => decode({ ...HI, generationConfig: { temperature: '' } })).toThrow('temperature')
  })

  test('both spellings: camelCase wins; null is absent', () => {
    const request = decode({ ...HI, generationConfig: { topK: 1, top_k: 2, temperature: null } })
    expect(request.topK).toBe(1)
    expect(request.temperature).toBeUndefined()
  })
})

describe('calls and results', () => {
  test.each([
    ['a list', [1, { a: 2 }], '[1,{"a":2}]'],
    ['a text', 'sunny', 'sunny'],
    ['a number', 5, '5'],
    ['nothing', undefined, '{}'],
  ])('edge 78: a response that is no object but %s is not lost', (_, response, text) => {
    const [, , user] = turns(
      { parts: [{ text: 'q' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      { parts: [{ functionResponse: { name: 'f', ...(response === undefined ? {} : { response }) } }] },
    )
    expect(user?.parts).toMatchObject([{ type: 'tool-result', content: [{ text }], isError: false }])
  })

  test('ids that are missing are derived alike for call and result, turn after turn', () => {
    const contents = [
      { role: 'user', parts: [{ text: 'q' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'f' } }, { functionCall: { name: 'f', args: { x: 1 } } }],
      },
      {
        role: 'user',
        parts: [
          { text: 'and' },
          { functionResponse: { name: 'f', response: { output: '1' } } },
          { functionResponse: { name: 'f', response: { error: '2' } } },
        ],
      },
    ]
    const [, model, user] = turns(...contents)
    const ids = model?.parts.map(part => (part.type === 'tool-call' ? part.callId : ''))
    expect(new Set(ids).size).toBe(2)
    expect(user?.parts).toMatchObject([
      { type: 'tool-result', callId: ids?.[0] ?? '', content: [{ text: '1' }], isError: false },
      { type: 'tool-result', callId: ids?.[1] ?? '', content: [{ text: '2' }], isError: true },
      { type: 'text', text: 'and' },
    ])
    const longer = turns(...contents, { role: 'model', parts: [{ functionCall: { name: 'f' } }] })
    expect(longer.slice(0, 3)).toEqual([...turns(...contents)])
  })

  test('edge 78: results of several calls in another order are found by id, or by name', () => {
    const [, , user] = turns(
      { parts: [{ text: 'q' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'f' } },
          { functionCall: { id: 'b', name: 'f' } },
          { functionCall: { name: 'g' } },
        ],
      },
      {
        parts: [
          { functionResponse: { name: 'g', response: { n: 1 } } },
          { functionResponse: { id: 'b', name: 'f', response: { result: [1] } } },
          { functionResponse: { id: 'a', name: 'f', response: {} } },
          { functionResponse: { name: 'nobody', response: { content: 'x' } } },
        ],
      },
    )
    expect(user?.parts).toMatchObject([
      { callId: expect.stringMatching(/^call_/), content: [{ text: '{"n":1}' }] },
      { callId: 'b', content: [{ text: '{"result":[1]}' }] },
      { callId: 'a', content: [{ text: '{}' }] },
      { name: 'nobody', content: [{ text: 'x' }] },
    ])
  })

  test('results that Gemini CLI says twice when it resumes count once, but not the equal results of two calls', () => {
    const said = (calls: { id?: string }[], results: JsonObject[]) =>
      turns(
        { parts: [{ text: 'q' }] },
        { role: 'model', parts: calls.map(call => ({ functionCall: { ...call, name: 'f' } })) },
        { parts: results },
      )[2]?.parts.map((part): string => part.type)
    const result = (id?: string) => ({
      functionResponse: { ...(id && { id }), name: 'f', response: { output: 'r' } },
    })
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
    const once = [result('a'), image, result('b')]
    const counted = ['tool-result', 'tool-result', 'media']
    expect(said([{ id: 'a' }, { id: 'b' }], once)).toEqual(counted)
    expect(said([{ id: 'a' }, { id: 'b' }], [...once, ...once])).toEqual(counted)
    expect(said([{}, {}], [result(), result()])).toEqual(['tool-result', 'tool-result'])
    expect(said([{ id: 'a' }], [result('a'), result('b')])).toEqual(['tool-result', 'tool-result'])
  })

  test('media of a result', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
    const [, , user] = turns(
      { parts: [{ text: 'q' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      { parts: [{ functionResponse: { name: 'f', response: { result: 'see' }, parts: [image] } }] },
    )
    expect(user?.parts).toMatchObject([{ content: [{ text: 'see' }, { type: 'media', kind: 'image' }] }])
  })
})

test('thoughts and signatures, the chunks of a streamed answer joined', () => {
  const foreign = { format: 'openai-responses', vendor: 'openai', value: 'enc' } as const
  const [, model] = turns(
    { parts: [{ text: 'q' }] },
    { role: 'model', parts: [{ text: 'I ', thought: true }] },
    { role: 'model', parts: [{ text: 'think', thought: true }] },
    { role: 'model', parts: [{ text: 'So', thoughtSignature: wrapSignature(foreign, codec.format) }] },
    { role: 'model', parts: [{ text: ' be it' }, { text: '', thoughtSignature: 'T3du' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: 'T3duMg==' }] },
  )
  const own = (value: string) => ({ format: codec.format, vendor: undefined, value })
  expect(model?.parts).toMatchObject([
    { type: 'reasoning', texts: ['I think'], signature: foreign },
    { type: 'text', text: 'So be it', signature: own('T3du') },
    { type: 'tool-call', signature: own('T3duMg==') },
  ])
})

test('of a part with two kinds of data, and of a call that is marked as a thought, nothing is lost', () => {
  const call = { functionCall: { name: 'f', id: 'c1', args: { x: 1 } } }
  const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
  const read = turns(
    { role: 'user', parts: [{ text: 'a caption', ...image }] },
    { role: 'model', parts: [{ text: 'hm', thought: true, ...call }] },
    {
      role: 'user',
      parts: [{ text: '', functionResponse: { name: 'f', id: 'c1', response: { ok: true } } }],
    },
    { role: 'model', parts: [{ thought: true, functionCall: { name: 'g', id: 'c2' } }] },
  )
  expect(read.map(({ parts }) => parts)).toMatchObject([
    [
      { type: 'text', text: 'a caption' },
      { type: 'media', kind: 'image' },
    ],
    [
      { type: 'reasoning', texts: ['hm'] },
      { type: 'tool-call', callId: 'c1', input: '{"x":1}' },
    ],
    [{ type: 'tool-result', callId: 'c1' }],
    [{ type: 'tool-call', callId: 'c2' }],
  ])
})

test('files, sounds, films and parts that only Gemini has', () => {
  const [user] = turns({
    parts: [
      {
        fileData: {
          fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/x',
          mimeType: 'application/pdf',
        },
      },
      { fileData: { fileUri: 'https://a.example/cat.png' } },
      { fileData: { fileUri: 'https://youtu.be/x' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
      { executableCode: { code: '1' } },
    ],
  })
  expect(user?.parts).toMatchObject([
    { kind: 'document', source: { type: 'file-id', format: codec.format } },
    { kind: 'image', source: { type: 'url' } },
    { kind: 'video', source: { type: 'url' } },
    { kind: 'audio', source: { type: 'base64' } },
    { type: 'opaque', name: 'executableCode' },
  ])
})

test('OpenAPI schemas become JSON Schema; JSON Schema stays', () => {
  const request = decode({
    ...HI,
    tools: [
      {
        functionDeclarations: [
          {
            name: 'f',
            description: 'd',
            parameters: {
              type: 'OBJECT',
              properties: {
                b: { type: 'ARRAY', items: { type: 'INTEGER', nullable: true }, minItems: '1' },
                a: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }], nullable: true },
                c: { type: 'STRING', enum: ['x'], nullable: true, example: 'x' },
              },
              propertyOrdering: ['a', 'b'],
              required: ['a'],
            },
          },
        ],
      },
    ],
  })
  expect(JSON.stringify(request.tools[0])).toContain('"properties":{"a":')
  expect(request.tools[0]).toMatchObject({
    parameters: {
      type: 'object',
      properties: {
        a: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
        b: { type: 'array', items: { type: ['integer', 'null'] }, minItems: 1 },
        c: { type: ['string', 'null'], enum: ['x', null], examples: ['x'] },
      },
      required: ['a'],
    },
  })
})

test.each([
  ['AUTO', [], { type: 'auto' }],
  ['NONE', [], { type: 'none' }],
  ['ANY', [], { type: 'required' }],
  ['any', ['f'], { type: 'tool', name: 'f', namespace: undefined, kind: 'function' }],
  [2, ['f', 'g'], { type: 'allowed', mode: 'required' }],
  ['VALIDATED', ['f'], { type: 'allowed', mode: 'auto' }],
  ['VALIDATED', [], { type: 'auto' }],
  ['MODE_UNSPECIFIED', [], undefined],
] as const)('mode %s with %p', (mode, names, choice) => {
  const functionCallingConfig = { mode, allowedFunctionNames: [...names] }
  const { toolChoice } = decode({ ...HI, toolConfig: { functionCallingConfig } })
  if (choice === undefined) expect(toolChoice).toBeUndefined()
  else expect(toolChoice).toMatchObject(choice)
})

test("a call is the model's and a result the user's, whatever the role of their content", () => {
  const { turns } = decode({
    contents: [
      { parts: [{ text: 'hi' }] },
      { parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'model', parts: [{ functionResponse: { name: 'f', response: {} } }] },
    ],
  })
  expect(turns.map(({ role, parts }) => [role, parts[0]?.type])).toEqual([
    ['user', 'text'],
    ['assistant', 'tool-call'],
    ['user', 'tool-result'],
  ])
})

/** What google-generativeai 0.8.6 (Python, over REST) made of a function and of a type. */
test('the types of schemas may be their numbers in the proto', () => {
  const parameters = {
    type: 6,
    properties: {
      words: { type: 5, items: { type: 1 } },
      size: { type: 2, nullable: true },
      count: { type: 3 },
      sure: { type: 4 },
      none: { type: 7 },
      any: { type: 0 },
    },
  }
  const { tools, output } = decode({
    ...HI,
    tools: [{ functionDeclarations: [{ name: 'f', parameters }] }],
    generationConfig: { responseMimeType: 'application/json', responseSchema: parameters },
  })
  const schema = {
    type: 'object',
    properties: {
      words: { type: 'array', items: { type: 'string' } },
      size: { type: ['number', 'null'] },
      count: { type: 'integer' },
      sure: { type: 'boolean' },
      none: { type: 'null' },
      any: {},
    },
  }
  expect(tools).toMatchObject([{ parameters: schema }])
  expect(output).toMatchObject({ schema })
})

test("a schema in Gemini's own spellings is JSON Schema, counts that are text included", () => {
  const parameters = {
    type: 'OBJECT',
    properties: {
      list: { type: 'ARRAY', min_items: '1', maxItems: '2' },
      word: { type: 'STRING', minLength: '3', max_length: '4' },
      either: { any_of: [{ type: 'STRING' }, { type: 'NUMBER' }], nullable: true },
    },
    min_properties: '1',
    maxProperties: '2',
    property_ordering: ['word', 'list'],
  }
  const request = decode({ ...HI, tools: [{ functionDeclarations: [{ name: 'f', parameters }] }] })
  const [tool] = request.tools
  const read = tool?.type === 'function' ? tool.parameters : undefined
  expect(read).toEqual({
    type: 'object',
    properties: {
      word: { type: 'string', minLength: 3, maxLength: 4 },
      list: { type: 'array', minItems: 1, maxItems: 2 },
      either: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
    },
    minProperties: 1,
    maxProperties: 2,
  })
  expect(Object.keys(asObject(read?.['properties']) ?? {})).toEqual(['word', 'list', 'either'])
})

test('an output is JSON where its type or a schema says so, and an enumeration stays as it was asked for', () => {
  const output = (generationConfig: JsonObject) => decode({ ...HI, generationConfig }).output
  const json = 'application/json'
  expect(output({})).toBeUndefined()
  expect(output({ responseMimeType: json })).toEqual({ type: 'json' })
  expect(output({ responseMimeType: json, responseSchema: { type: 'STRING' } })).toMatchObject({
    schema: { type: 'string' },
  })
  expect(output({ responseMimeType: json, responseJsonSchema: { const: 1 } })).toMatchObject({
    schema: { const: 1 },
  })
  // Who gives a schema wants JSON.
  expect(output({ responseJsonSchema: { const: 1 } })).toMatchObject({ schema: { const: 1 } })
  expect(output({ responseSchema: { type: 'STRING' } })).toMatchObject({ schema: { type: 'string' } })
  const enumeration = { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a'] } }
  const request = decode({ ...HI, generationConfig: enumeration })
  expect(request.output).toEqual({ type: 'text' })
  expect(
    codec.encodeRequest(request, { model: 'gemini-2.5-flash', vendor: 'v', maxOutputTokens: undefined }).body,
  ).toMatchObject({
    generationConfig: enumeration,
  })
})

describe('what breaks the schema names the field as the caller spelled it', () => {
  test.each([
    [{}, 'contents'],
    [{ contents: [] }, 'contents'],
    [{ contents: 'hi' }, 'contents'],
    [{ contents: [{ role: 'assistant', parts: [] }] }, 'contents[0].role'],
    [{ contents: [{ parts: [{ text: 1 }] }] }, 'contents[0].parts[0].text'],
    [{ contents: [{ parts: [{ function_call: { args: {} } }] }] }, 'contents[0].parts[0].function_call.name'],
    [{ ...HI, generation_config: { top_k: 'many' } }, 'generation_config.top_k'],
    [{ ...HI, generationConfig: { maxOutputTokens: 0 } }, 'generationConfig.maxOutputTokens'],
    [{ ...HI, generationConfig: { stopSequences: 'x' } }, 'generationConfig.stopSequences'],
    [
      { ...HI, tools: [{ functionDeclarations: [{ description: 'no name' }] }] },
      'tools[0].functionDeclarations[0].name',
    ],
  ] as const)('%j', (body, param) => {
    expect(complaint(parse(JSON.stringify(body)))).toMatchObject({ kind: 'invalid_request', param })
  })

  test('the value is not echoed', () => {
    expect(complaint({ ...HI, generationConfig: { seed: 'sk-secret' } }).message).not.toContain('sk-secret')
  })
})

describe('edge 87: hostile bodies', () => {
  test('a __proto__ key is data', () => {
    const request = decode(parse('{"contents":[{"parts":[{"text":"x"}]}],"__proto__":{"polluted":1}}'))
    expect('polluted' in {}).toBe(false)
    expect('polluted' in request).toBe(false)
  })

  test('deep nesting is refused or passed, never a crash', () => {
    const deep = (open: string, close: string) => open.repeat(3000) + close.repeat(3000)
    const bodies = [
      `{"contents":${deep('[', ']')}}`,
      `{"contents":[{"parts":[{"text":"x"}]}],"foo":${deep('{"a":', '}').replace('}', '1}')}}`,
    ]
    for (const body of bodies) expect(complaint(parse(body)).kind).toBe('invalid_request')
    const schema = `{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":${deep('{"items":', '}').replace('}', '1}')}}]}]}`
    expect(decode(parse(schema)).tools).toHaveLength(1)
  })
})

test('a service tier that Google spells as unsaid is unsaid', () => {
  expect(decode({ ...HI, serviceTier: 'unspecified' }).serviceTier).toBeUndefined()
  expect(decode({ ...HI, serviceTier: 'flex' }).serviceTier).toBe('flex')
})
