import { describe, expect, test } from 'bun:test'
import { codec, generationRequest, target } from '#tests/formats/gemini-generate-content/fixtures.ts'
import { assistant, call, functionTool, hostedTool, result, user } from '#tests/formats/parts.ts'
import { modelTraits } from '@/formats/gemini-generate-content/models.ts'
import type { Loss } from '@/generation/loss.ts'
import {
  type MediaPart,
  mediaPart,
  type Part,
  reasoningPart,
  type Signature,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'

const G3 = 'gemini-3-flash-preview'
const G25 = 'gemini-2.5-flash'
const G2 = 'gemini-2.0-flash'
const OWN: Signature = { format: 'gemini-generate-content', vendor: 'google', value: 'U2ln' }
const FOREIGN: Signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'x' }

function encode(fields: Partial<GenerationRequest>, model = G25) {
  return codec.encodeRequest(generationRequest(fields), target(model))
}

function contents(model: string, ...turns: Turn[]) {
  return encode({ turns }, model).body['contents']
}

const reasoning = (text: string, signature: Signature | undefined) =>
  reasoningPart({ texts: text === '' ? [] : [text], signature })

const media = (source: MediaPart['source'], fields: Partial<MediaPart> = {}) =>
  mediaPart({ kind: 'image', source, ...fields })

const tool = (name: string, parameters?: JsonObject) => functionTool(name, { parameters })

describe('turns', () => {
  test('alternate, the user first, system text in its place, empty parts dropped', () => {
    expect(
      contents(
        G25,
        assistant('a'),
        assistant('b', ''),
        { role: 'system', parts: [textPart('s')] },
        user('c'),
        user(''),
      ),
    ).toEqual([
      { role: 'user', parts: [{ text: '.' }] },
      { role: 'model', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'user', parts: [{ text: 's' }, { text: 'c' }] },
    ])
    expect(contents(G25)).toEqual([{ role: 'user', parts: [{ text: '.' }] }])
  })

  test.each([
    [G2, false],
    [G25, false],
    [G3, false],
    ['gemini-3.1-pro-preview', false],
    ['gemini-3.5-flash', false],
    ['someone-elses', false],
    ['gemini-3.5-flash-lite', true],
    ['gemini-3.8-flash', true],
    ['gemini-flash-latest', true],
    ['gemini-4-neon', true],
  ])(
    'end with the beginning of an answer, and for %s, where that is a 400, with the user: %p',
    (model, refuses) => {
      const said = [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ text: '{' }] },
      ]
      const asked = refuses ? [...said, { role: 'user', parts: [{ text: 'Continue.' }] }] : said
      expect(contents(model, user('a'), assistant('{'))).toEqual(asked)
    },
  )

  test('edge 78: results stand behind their calls in the order of the calls, placeholders and orphans included', () => {
    expect(
      contents(
        G25,
        user('q'),
        assistant(
          call('a', { input: '{"x":1}' }),
          call('b', { name: 'g', input: '' }),
          call('c', { name: 'h', input: 'broken' }),
        ),
        user(result('b', '[1,2]'), textPart('meanwhile')),
        user(result('a', '{"ok":true}'), result('z', 'orphan')),
        assistant('done'),
      ),
    ).toEqual([
      { role: 'user', parts: [{ text: 'q' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'f', args: { x: 1 } } },
          { functionCall: { name: 'g', args: {} } },
          { functionCall: { name: 'h', args: { _raw: 'broken' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { ok: true } } },
          { functionResponse: { name: 'g', response: { result: '[1,2]' } } },
          { functionResponse: { name: 'h', response: { result: 'No result was recorded for this call.' } } },
          { text: 'meanwhile' },
          { text: 'Result of tool call z:' },
          { text: 'orphan' },
        ],
      },
      { role: 'model', parts: [{ text: 'done' }] },
    ])
  })

  test('an id used by two turns means the later call after it, the earlier before', () => {
    const body = JSON.stringify(
      contents(
        G25,
        user('q'),
        assistant(call('call_0')),
        user(result('call_0', 'one')),
        assistant(call('call_0')),
        user(result('call_0', 'two')),
      ),
    )
    expect(body.indexOf('"one"')).toBeLessThan(body.indexOf('"two"'))
    expect(body).not.toContain('No result')
  })

  test('an error is the key error; images go inside the result, or behind it before Gemini 3', () => {
    const failed = result('a', '{"x":1}', { isError: true })
    const seen = result('a', [textPart('see'), media({ type: 'base64', data: 'iVBORw0KGgoAAA' })], {})
    const blob = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoAAA' } }
    const talk = (answer: ToolResultPart) => [user('q'), assistant(call('a')), user(answer)]
    expect(contents(G25, ...talk(failed))).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { response: { error: '{"x":1}' } } }] },
    ])
    expect(contents(G25, ...talk(seen))).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { name: 'f', response: { result: 'see' } } }, blob] },
    ])
    expect(contents(G3, ...talk(seen))).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { id: 'a', parts: [blob] } }] },
    ])
  })

  test.each([
    ['{"$ref":"#/a"}', { result: '{"$ref":"#/a"}' }],
    ['{"x":[{"$ref": "#/a"}]}', { result: '{"x":[{"$ref": "#/a"}]}' }],
    ['{"x":"a \\"$ref\\": b"}', { x: 'a "$ref": b' }],
    ['{"$refs":1}', { $refs: 1 }],
  ])('a result with a $ref is a text, since Gemini looks for media of that name: %s', (text, response) => {
    expect(contents(G3, user('q'), assistant(call('a')), user(result('a', text)))).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { response } }] },
    ])
  })

  test('edge 88: numbers of arguments and results keep their digits', () => {
    const input = '{"n":12345678901234567890,"z":-0,"e":1e400}'
    const body = JSON.stringify(
      contents(G25, user('q'), assistant(call('a', { input })), user(result('a', input))),
    )
    expect(body).toContain(`"args":${input}`)
    expect(body).toContain(`"response":${input}`)
  })
})

describe('signatures', () => {
  test('edge 69: go back on their own parts; foreign ones are dropped and reported', () => {
    const turns = [
      user('q'),
      assistant(
        reasoning('hm', FOREIGN),
        { ...textPart('So'), signature: OWN },
        call('a', { signature: OWN }),
        call('b', { name: 'g' }),
      ),
    ]
    const { body, losses } = encode({ turns }, G3)
    expect(body['contents']).toMatchObject([
      {},
      {
        parts: [
          { text: 'So', thoughtSignature: 'U2ln' },
          { functionCall: { id: 'a' }, thoughtSignature: 'U2ln' },
          { functionCall: { id: 'b' } },
        ],
      },
      {},
    ])
    expect(JSON.stringify(body)).not.toContain('skip_thought_signature_validator')
    expect(losses).toEqual([{ field: 'reasoningHistory', name: undefined }])
  })

  test('Gemini 3 gets the documented bypass on the first call of each step of the current turn only', () => {
    const turns = [
      user('old'),
      assistant(call('a')),
      user(result('a', '1')),
      assistant('ok'),
      user('new'),
      assistant('well', call('b'), call('c')),
      user(result('b', '2'), result('c', '3')),
      assistant(call('d')),
      user(result('d', '4')),
    ]
    const signed =
      /"id":"(\w)","name":"f","args":\{\}\},"thoughtSignature":"skip_thought_signature_validator"/g
    const body = JSON.stringify(encode({ turns }, G3).body)
    expect([...body.matchAll(signed)].map(found => found[1])).toEqual(['b', 'd'])
    expect(JSON.stringify(encode({ turns }, G25).body)).not.toContain('skip_')
    const unanswered = [user('go'), assistant(call('e')), user('never mind')]
    expect(JSON.stringify(encode({ turns: unanswered }, G3).body)).toMatch(signed)
  })

  test('a signature that travelled in a reasoning part returns to the part beside it', () => {
    const signature = { ...OWN, value: 'QQ==' }
    const at = (...parts: Part[]) => {
      const [, model] = contents(G3, user('q'), assistant(...parts)) as unknown as {
        parts: JsonObject[]
      }[]
      return model?.parts.map(part => part['thoughtSignature'])
    }
    expect(at(reasoning('thought', signature), call('a'), call('b'))).toEqual(['QQ==', undefined])
    // Responses hides it behind its part, Messages writes it before.
    const hidden = { ...reasoning('', signature), redacted: true }
    expect(at(call('a'), hidden, call('b'))).toEqual(['QQ==', undefined])
    expect(at(textPart('t'), reasoning('', signature), call('b'))).toEqual([undefined, 'QQ=='])
    expect(at(reasoning('', signature), textPart('t'))).toEqual(['QQ=='])
    expect(at(reasoning('', signature), call('a', { signature }))).toEqual(['QQ=='])
  })

  test('a thought that nobody signed is left out, and that is a loss', () => {
    const nobody: Signature = { format: 'anthropic-messages', vendor: 'tollgate', value: '' }
    const { losses } = encode({
      turns: [user('q'), assistant(reasoning('a', undefined), reasoning('b', nobody), textPart('c'))],
    })
    expect(losses).toEqual([{ field: 'reasoningHistory', name: undefined }])
  })
})

describe('media', () => {
  const parts = (model: string, part: MediaPart) => contents(model, user(part))

  test('base64 is inline, its type sniffed where it is missing', () => {
    expect(parts(G25, media({ type: 'base64', data: '/9j/4AAQ' }))).toMatchObject([
      { parts: [{ inlineData: { mimeType: 'image/jpeg' } }] },
    ])
    expect(
      parts(G25, media({ type: 'base64', data: 'AAAA' }, { kind: 'audio', mediaType: 'audio/mp3' })),
    ).toMatchObject([{ parts: [{ inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }] }])
  })

  test('addresses go to models that fetch, Google files to all; data URIs are taken apart', () => {
    const url = 'https://a.example/cat.jpg?x=1'
    expect(parts(G25, media({ type: 'url', url }))).toMatchObject([
      { parts: [{ fileData: { mimeType: 'image/jpeg', fileUri: url } }] },
    ])
    expect(() => parts(G2, media({ type: 'url', url }))).toThrow('cannot fetch')
    expect(() => parts(G25, media({ type: 'url', url: 'http://a.example/x' }))).toThrow('cannot fetch')
    expect(parts(G2, media({ type: 'url', url: 'gs://b/x.png' }))).toMatchObject([
      { parts: [{ fileData: { fileUri: 'gs://b/x.png' } }] },
    ])
    expect(parts(G2, media({ type: 'url', url: 'data:image/gif;charset=x;base64,R0lG-_' }))).toMatchObject([
      { parts: [{ inlineData: { mimeType: 'image/gif', data: 'R0lG+/==' } }] },
    ])
    const file = { type: 'file-id', id: 'file-1', format: 'openai-responses' } as const
    expect(() => parts(G25, media(file))).toThrow('another vendor')
  })

  const PIXEL = { type: 'base64', data: 'iVBORw0KGgo=' } as const

  test.each([
    ['auto', undefined],
    ['low', { level: 'MEDIA_RESOLUTION_LOW' }],
    ['high', { level: 'MEDIA_RESOLUTION_HIGH' }],
    ['original', { level: 'MEDIA_RESOLUTION_ULTRA_HIGH' }],
  ] as const)('an image of the detail %s has that measure from Gemini 3 on', (detail, mediaResolution) => {
    for (const model of [G3, 'gemini-4-neon']) {
      const { body, losses } = encode({ turns: [user(media(PIXEL, { detail }))] }, model)
      const inlineData = { mimeType: 'image/png', data: PIXEL.data }
      expect(body['contents']).toEqual([
        { role: 'user', parts: [{ inlineData, ...(mediaResolution && { mediaResolution }) }] },
      ])
      expect(losses).toEqual([])
    }
  })

  test('how closely to look is a loss before Gemini 3, at models of unknown names, and in a result', () => {
    const image = media(PIXEL, { detail: 'low' })
    const talks = [
      [G25, [user(image)]],
      ['mine', [user(image)]],
      [G3, [assistant(call('c')), user(result('c', [image]))]],
    ] as const
    for (const [model, turns] of talks) {
      const { body, losses } = encode({ turns: [...turns] }, model)
      expect(JSON.stringify(body)).not.toContain('mediaResolution')
      expect(losses.map(({ field }) => field)).toContain('imageDetail')
    }
  })

  test('a text document becomes text with its title', () => {
    const part = media({ type: 'text', text: 'body' }, { kind: 'document', title: 'T', context: 'C' })
    expect(parts(G25, part)).toMatchObject([{ parts: [{ text: 'T\n\nC\n\nbody' }] }])
  })

  test('a document of no text has no part, as Google refuses an empty one', () => {
    const empty = media({ type: 'text', text: '' }, { kind: 'document' })
    expect(contents(G25, user(textPart('a'), empty), assistant(textPart('b'), empty))).toEqual([
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: 'b' }] },
    ])
  })
})

describe('tools', () => {
  const schema = { type: 'object', properties: { a: { type: ['string', 'null'] } }, $schema: 'x' }

  test('JSON Schema where the model takes it, else the lowered one; none for functions without arguments', () => {
    const tools = [tool('f', schema), tool('g', { type: 'object', properties: {} }), tool('h')]
    expect(encode({ tools }).body['tools']).toEqual([
      { functionDeclarations: [{ name: 'f', parametersJsonSchema: schema }, { name: 'g' }, { name: 'h' }] },
    ])
    expect(encode({ tools }, G2).body['tools']).toMatchObject([
      {
        functionDeclarations: [
          { parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } } },
          {},
          {},
        ],
      },
    ])
  })

  test.each<JsonObject>([
    { properties: { a: { type: 'string' } } },
    { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }] },
    { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { a: { type: 'string' } } } } },
  ])('the parameters %j are an object with properties, as Google wants them', parameters => {
    const tools = [tool('f', parameters)]
    expect(encode({ tools }).body['tools']).toMatchObject([
      {
        functionDeclarations: [
          { parametersJsonSchema: { type: 'object', properties: { a: { type: 'string' } } } },
        ],
      },
    ])
    expect(encode({ tools }, G2).body['tools']).toMatchObject([
      { functionDeclarations: [{ parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } }] },
    ])
  })

  test('parameters that hold themselves are unrolled, for which Gemini refuses the whole request', () => {
    const child = { $ref: '#/properties/data/items', description: 'A child.' }
    const items = { type: 'object', properties: { child } }
    const parameters = { type: 'object', properties: { data: { type: 'array', items } } }
    const holding = (property: JsonObject) => ({ type: 'object', properties: { child: property } })
    const told = { description: 'A child.' }
    expect(encode({ tools: [tool('f', parameters)] }).body['tools']).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            parametersJsonSchema: {
              type: 'object',
              properties: {
                data: {
                  type: 'array',
                  items: holding({
                    ...holding({ ...holding({ type: 'object', ...told }), ...told }),
                    ...told,
                  }),
                },
              },
            },
          },
        ],
      },
    ])
  })

  test('parameters that refer to nothing are said in the older way, which has no references', () => {
    const parameters = {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { $ref: '#/components/schemas/B' } },
    }
    expect(encode({ tools: [tool('f', parameters)] }).body['tools']).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            parameters: { type: 'OBJECT', properties: { a: { type: 'INTEGER' }, b: { type: 'STRING' } } },
          },
        ],
      },
    ])
  })

  test.each([true, { type: 'string' }])(
    'a function that takes any properties (%j) says so where the model takes JSON Schema; elsewhere it has none',
    additionalProperties => {
      const open = { type: 'object', properties: {}, additionalProperties }
      expect(encode({ tools: [tool('f', open)] }).body['tools']).toEqual([
        { functionDeclarations: [{ name: 'f', parametersJsonSchema: open }] },
      ])
      expect(encode({ tools: [tool('f', open)] }, G2).body['tools']).toEqual([
        { functionDeclarations: [{ name: 'f' }] },
      ])
    },
  )

  test.each([G25, G2])(
    'what the schema of a function without arguments says in words, the function says',
    target => {
      const none = { type: 'object', properties: {}, description: 'None.' }
      const tools = [tool('f', none), { ...tool('g', none), description: 'Tells the time.' }]
      expect(encode({ tools }, target).body['tools']).toEqual([
        {
          functionDeclarations: [
            { name: 'f', description: 'None.' },
            { name: 'g', description: 'Tells the time.\n\nNone.' },
          ],
        },
      ])
    },
  )

  test('hosted tools are mapped, lost where Google has none, and beside functions before Gemini 3', () => {
    const search = [
      hostedTool('web_search', 'web_search'),
      hostedTool('web_search', 'web_search_preview'),
      hostedTool('code_execution', 'code_interpreter'),
    ]
    expect(encode({ tools: [...search, hostedTool('file_search', 'file_search')] })).toMatchObject({
      body: { tools: [{ googleSearch: {} }, { codeExecution: {} }] },
      losses: [{ field: 'tools', name: 'file_search' }],
    })
    const old = encode({ tools: [tool('f'), ...search] })
    expect(old.body['tools']).toEqual([{ functionDeclarations: [{ name: 'f' }] }])
    expect(old.losses.map(loss => loss.name)).toEqual([
      'web_search',
      'web_search_preview',
      'code_interpreter',
    ])
    // Of a name that says nothing only what cannot be done without is asked.
    const unknown = encode({ tools: [tool('f'), ...search], output: { type: 'json' } }, 'my-tuned-model')
    expect(unknown.body['tools']).toHaveLength(1)
    expect(unknown.body['generationConfig']).toEqual({ responseMimeType: 'application/json' })
    const mixed = encode({ tools: [tool('f'), ...search] }, G3)
    expect(mixed.body['tools']).toHaveLength(3)
    expect(mixed.body['toolConfig']).toEqual({ includeServerSideToolInvocations: true })
    // A field that Vertex does not know.
    const asked = generationRequest({ tools: [tool('f'), ...search] })
    const vertex = codec.encodeRequest(asked, { ...target(G3), vendor: 'aiplatform.googleapis.com' }).body
    expect(vertex['tools']).toHaveLength(3)
    expect(vertex).not.toHaveProperty('toolConfig')
  })

  test.each([
    [{ type: 'auto' }, { mode: 'AUTO' }],
    [{ type: 'none' }, { mode: 'NONE' }],
    [{ type: 'required' }, { mode: 'ANY' }],
    [
      { type: 'tool', name: 'f', namespace: undefined, kind: 'function' },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
    [
      { type: 'allowed', mode: 'required', tools: [{ name: 'f', namespace: undefined }] },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
    [
      { type: 'allowed', mode: 'auto', tools: [{ name: 'f', namespace: undefined }] },
      { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
    ],
  ] as const)('choice %j', (toolChoice, functionCallingConfig) => {
    expect(encode({ tools: [tool('f')], toolChoice }).body).toMatchObject({
      toolConfig: { functionCallingConfig },
    })
    if (toolChoice.type !== 'tool') expect(encode({ toolChoice }).body).not.toHaveProperty('toolConfig')
  })

  test('a forced tool that is not there is refused, parallel calls cannot be switched off', () => {
    const choice = { type: 'tool', name: 'x', namespace: undefined, kind: 'function' } as const
    expect(() => encode({ tools: [tool('f')], toolChoice: choice })).toThrow('not among the tools')
    const kind = { hosted: 'file_search', wireType: 'file_search' } as const
    expect(() => encode({ tools: [tool('f')], toolChoice: { ...choice, kind } })).toThrow('does not have')
    expect(encode({ tools: [tool('f')], parallelToolCalls: false }).losses).toEqual([
      { field: 'parallelToolCalls', name: undefined },
    ])
  })
})

describe('configuration', () => {
  const config = (fields: Partial<GenerationRequest>, model = G25) =>
    encode(fields, model).body['generationConfig']

  test('edge 64: a limit of 0, which warms a cache elsewhere, is the smallest there is, and named', () => {
    expect(config({ maxOutputTokens: 0 })).toMatchObject({ maxOutputTokens: 1 })
    expect(encode({ maxOutputTokens: 0 }).losses).toEqual([{ field: 'maxOutputTokens', name: undefined }])
  })

  test('settings that Gemini has are said in its own fields', () => {
    const said = {
      temperature: 1.5,
      topP: 0.9,
      topK: 40,
      stop: ['a'],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      logprobs: { top: 3 },
      candidates: 2,
      modalities: ['text', 'image'] as const,
      maxOutputTokens: 10,
    }
    expect(config(said)).toEqual({
      temperature: 1.5,
      topP: 0.9,
      topK: 40,
      candidateCount: 2,
      maxOutputTokens: 10,
      stopSequences: ['a'],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      responseLogprobs: true,
      logprobs: 3,
      responseModalities: ['TEXT', 'IMAGE'],
    })
    expect(config({ candidates: 1 })).toBeUndefined()
  })

  test.each([
    [G2, []],
    ['someone-elses', []],
    [G25, ['presencePenalty', 'frequencyPenalty']],
    [G3, ['presencePenalty', 'frequencyPenalty', 'logprobs']],
    ['gemini-3.8-flash', ['presencePenalty', 'frequencyPenalty', 'logprobs']],
    ['gemini-4-neon', ['presencePenalty', 'frequencyPenalty', 'logprobs']],
    ['gemma-4-31b-it', ['presencePenalty', 'frequencyPenalty', 'logprobs']],
  ] as const)(
    'what the Gemini API answers with a 400 for %s is not sent there and named: %j',
    (model, refused) => {
      const request = generationRequest({
        presencePenalty: 0.5,
        frequencyPenalty: 0.5,
        logprobs: { top: undefined },
        topK: 40,
      })
      const encodeAt = (vendor: string) => codec.encodeRequest(request, { ...target(model), vendor })
      const { body, losses } = encodeAt('generativelanguage.googleapis.com')
      expect(losses.map(loss => loss.field)).toEqual([...refused])
      const sent = { topK: 40, presencePenalty: 0.5, frequencyPenalty: 0.5, responseLogprobs: true }
      for (const vendor of ['aiplatform.googleapis.com', '127.0.0.1']) {
        expect(encodeAt(vendor)).toMatchObject({ body: { generationConfig: sent }, losses: [] })
      }
      const left = Object.entries(sent).filter(
        ([name]) => !refused.some(field => name.toLowerCase().endsWith(field.toLowerCase())),
      )
      expect(body['generationConfig']).toEqual(Object.fromEntries(left))
    },
  )

  test.each([undefined, false, true])(
    'the Gemini API, whose projects keep what is asked unless it says otherwise, is told to keep nothing that the caller does not ask it to (store: %p)',
    store => {
      const encodeAt = (vendor: string) =>
        codec.encodeRequest(generationRequest({ store }), { ...target(G3), vendor })
      const losses: Loss[] = store === true ? [{ field: 'store', name: undefined }] : []
      expect(encodeAt('generativelanguage.googleapis.com')).toMatchObject({
        body: { store: store ?? false },
        losses: [],
      })
      expect(encodeAt('aiplatform.googleapis.com').body).not.toHaveProperty('store')
      expect(encodeAt('aiplatform.googleapis.com').losses).toEqual(losses)
    },
  )

  test('images are made by Nano Banana as by the others of Gemini 3: one an answer, signed when they come back', () => {
    expect(modelTraits('gemini-nano-banana-2.1')).toEqual(modelTraits('gemini-3.1-flash-image'))
  })

  test('penalties of 0 are no loss', () => {
    const request = generationRequest({ presencePenalty: 0, frequencyPenalty: 0 })
    const geminiApi = { ...target('gemini-4-neon'), vendor: 'generativelanguage.googleapis.com' }
    expect(codec.encodeRequest(request, geminiApi).losses).toEqual([])
  })

  test('too many stop sequences and candidates are refused', () => {
    expect(() => config({ stop: ['1', '2', '3', '4', '5', '6'] })).toThrow('at most 5')
    expect(() => config({ candidates: 2 }, 'gemini-2.5-flash-image')).toThrow('at most 1')
  })

  test.each(['gemini-3.6-flash', 'gemini-4-neon'])(
    'several answers of %s, of which nobody has said that the Gemini API refuses them, are asked for',
    model => {
      const geminiApi = { ...target(model), vendor: 'generativelanguage.googleapis.com' }
      expect(codec.encodeRequest(generationRequest({ candidates: 2 }), geminiApi).body).toMatchObject({
        generationConfig: { candidateCount: 2 },
      })
    },
  )

  test.each([
    'gemini-3-pro-preview',
    'gemini-3-flash-preview',
    'gemini-3.1-pro-preview',
    'gemini-3.1-flash-lite',
  ])('several answers of %s are refused where the Gemini API would, and asked of Vertex', model => {
    const encodeAt = (vendor: string) =>
      codec.encodeRequest(generationRequest({ candidates: 2 }), { ...target(model), vendor })
    expect(() => encodeAt('generativelanguage.googleapis.com')).toThrow('at most 1')
    expect(encodeAt('aiplatform.googleapis.com').body).toMatchObject({
      generationConfig: { candidateCount: 2 },
    })
  })

  test.each([
    [G25, { effort: 'low' }, { thinkingBudget: 1024 }],
    [G25, { effort: 'none' }, { thinkingBudget: 0 }],
    [G25, { effort: 'max' }, { thinkingBudget: 24_576 }],
    [G25, { budgetTokens: -1, summary: 'auto' }, { thinkingBudget: -1, includeThoughts: true }],
    [G25, { budgetTokens: -1, effort: 'medium' }, { thinkingBudget: 8192 }],
    ['gemini-2.5-pro', { effort: 'none' }, { thinkingBudget: 128 }],
    ['gemini-2.5-pro', { effort: 'xhigh' }, { thinkingBudget: 32_768 }],
    ['gemini-2.5-flash-lite', { budgetTokens: 100 }, { thinkingBudget: 512 }],
    [G3, { effort: 'minimal' }, { thinkingLevel: 'MINIMAL' }],
    [G3, { budgetTokens: 9000, summary: 'detailed' }, { thinkingLevel: 'MEDIUM', includeThoughts: true }],
    [G3, { budgetTokens: -1 }, undefined],
    ['gemini-3-pro-preview', { effort: 'medium' }, { thinkingLevel: 'HIGH' }],
    ['gemini-3-pro-preview', { effort: 'none' }, { thinkingLevel: 'LOW' }],
    ['models/gemini-3.1-pro', { effort: 'medium' }, { thinkingLevel: 'MEDIUM' }],
    ['gemini-4-argon', { effort: 'none' }, { thinkingLevel: 'LOW' }],
    ['gemini-4-argon', { effort: 'max' }, { thinkingLevel: 'HIGH' }],
    ['gemini-4-hydrogen', { effort: 'minimal' }, { thinkingLevel: 'LOW' }],
    ['gemini-4-hydrogen', { effort: 'high' }, { thinkingLevel: 'HIGH' }],
    ['gemini-4-hydrogen', { effort: 'xhigh' }, { thinkingLevel: 'XHIGH' }],
    ['gemini-4-hydrogen', { effort: 'max' }, { thinkingLevel: 'XHIGH' }],
    ['gemini-4-neon', { effort: 'max' }, { thinkingLevel: 'XHIGH' }],
    ['gemini-4-carbon', { effort: 'max' }, { thinkingLevel: 'HIGH' }],
    ['gemini-10-flash', { effort: 'minimal' }, { thinkingLevel: 'LOW' }],
    ['gemini-3.6-flash', { effort: 'minimal' }, { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.7-flash', { effort: 'minimal' }, { thinkingLevel: 'LOW' }],
    ['gemini-3.8-flash', { effort: 'none' }, { thinkingLevel: 'LOW' }],
    ['gemini-flash-latest', { effort: 'minimal' }, { thinkingLevel: 'LOW' }],
    ['gemini-3.8-flash-lite', { effort: 'minimal' }, { thinkingLevel: 'MINIMAL' }],
    ['gemma-4-31b-it', { effort: 'minimal' }, { thinkingLevel: 'MINIMAL' }],
    ['gemma-4-31b-it', { effort: 'low' }, { thinkingLevel: 'HIGH' }],
    ['medgemma-4b-it', { effort: 'low' }, undefined],
    [G2, { effort: 'high' }, undefined],
    ['gemini-3.1-flash-tts', { effort: 'high' }, undefined],
    ['gemini-2.5-flash-preview-tts', { effort: 'high' }, undefined],
  ] as const)('%s thinks %j as %j', (model, said, thinkingConfig) => {
    const reasoning = { effort: undefined, budgetTokens: undefined, summary: undefined, ...said }
    const { body, losses } = encode({ reasoning }, model)
    expect(body['generationConfig']).toEqual(thinkingConfig === undefined ? undefined : { thinkingConfig })
    const isUnheard =
      model === G2 || /tts$|^medgemma/.test(model) || ('effort' in said && said.effort === 'none')
    expect(losses).toEqual(isUnheard && model !== G25 ? [{ field: 'reasoning', name: undefined }] : [])
  })

  test('a model that always thinks and is not to is a loss, but where it thinks the least there is', () => {
    const none = { effort: undefined, budgetTokens: 0, summary: undefined } as const
    const lost = (model: string) => encode({ reasoning: none }, model).losses.map(({ field }) => field)
    expect(lost('gemini-2.5-pro')).toEqual(['reasoning'])
    expect(lost('gemini-3-pro-preview')).toEqual(['reasoning'])
    expect(lost(G25)).toEqual([])
    expect(lost('gemini-3-flash-preview')).toEqual([])
  })

  test('a seed that the API has no room for is a loss', () => {
    expect(config({ seed: 2 ** 31 - 1 })).toEqual({ seed: 2 ** 31 - 1 })
    const { body, losses } = encode({ seed: 2 ** 31 })
    expect(body).not.toHaveProperty('generationConfig')
    expect(losses).toEqual([{ field: 'seed', name: undefined }])
  })

  test('structured output: natively, lowered, or in words where functions stand in its way', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer', exclusiveMinimum: 0 } } }
    const output = { type: 'json-schema', name: 'n', description: undefined, schema, strict: true } as const
    const responseMimeType = 'application/json'
    expect(config({ output })).toEqual({ responseMimeType, responseJsonSchema: schema })
    expect(config({ output }, G2)).toEqual({
      responseMimeType,
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'INTEGER', minimum: 1 } } },
    })
    expect(config({ output: { type: 'json' } })).toEqual({ responseMimeType })
    const beside = encode({ output, tools: [tool('f')] })
    expect(JSON.stringify(beside.body['systemInstruction'])).toContain('exclusiveMinimum')
    expect(JSON.stringify(beside.body['systemInstruction'])).toContain('answer with one JSON object')
    const list = { ...output, schema: { type: 'array', items: schema } }
    const listed = encode({ output: list, tools: [tool('f')] })
    expect(JSON.stringify(listed.body['systemInstruction'])).toContain('answer with one JSON array')
    expect(beside.losses).toEqual([{ field: 'output', name: undefined }])
    expect(config({ output, tools: [tool('f')] }, G3)).toMatchObject({ responseJsonSchema: schema })
  })

  test.each([
    ['the property is required', { $ref: '#/$defs/node' }, ['next'], false],
    ['the property is not', { $ref: '#/$defs/node' }, [], true],
    ['it does not go by a definition', { $ref: '#/properties/node' }, [], false],
  ])('an answer whose schema holds itself, where %s', (_what, next, required, isTaken) => {
    const node = { type: 'object', properties: { next }, required }
    const schema = { type: 'object', properties: { node }, $defs: { node } }
    const written = config({
      output: { type: 'json-schema', name: 'n', description: undefined, schema, strict: true },
    })
    if (isTaken) expect(written).toMatchObject({ responseJsonSchema: schema })
    else expect(JSON.stringify(written)).not.toContain('$ref')
  })

  test('an answer whose schema refers to nothing is asked for in the older way', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } } }
    const output = { type: 'json-schema', name: 'n', description: undefined, schema, strict: true } as const
    expect(config({ output })).toMatchObject({ responseSchema: { properties: { a: { type: 'STRING' } } } })
  })

  test('instructions are joined, hints without a word are losses, each once', () => {
    const marked = { ...textPart('b'), cache: { ttl: undefined } }
    const { body, losses } = encode({
      instructions: [textPart('a'), marked],
      turns: [user({ ...marked })],
      verbosity: 'low',
      user: 'u',
      logitBias: { 1: 1 },
      serviceTier: 'scale',
      store: false,
    })
    expect(body['systemInstruction']).toEqual({ parts: [{ text: 'a\n\nb' }] })
    expect(losses.map(loss => loss.name ?? loss.field).sort()).toEqual([
      'cacheMark',
      'logitBias',
      'serviceTier',
      'user',
      'verbosity',
    ])
  })

  test.each([
    ['default', 'standard'],
    ['standard', 'standard'],
    ['standard_only', 'standard'],
    ['flex', 'flex'],
    ['priority', 'priority'],
    ['auto', undefined],
  ])('the tier %s is asked for as %s', (serviceTier, asked) => {
    const { body, losses } = encode({ serviceTier })
    expect(body['serviceTier']).toBe(asked)
    expect(losses).toEqual([])
  })

  test('own extensions go back to their places', () => {
    const extensions = {
      'gemini-generate-content': { labels: { a: 'b' }, 'generationConfig.speechConfig': { x: 1 } },
    }
    expect(encode({ extensions, topK: 1 }).body).toMatchObject({
      labels: { a: 'b' },
      generationConfig: { topK: 1, speechConfig: { x: 1 } },
    })
  })

  test('edge 90: the same conversation gives the same bytes', () => {
    const fields = {
      tools: [tool('f', { type: 'object', properties: { b: {}, a: {} } })],
      turns: [user('q'), assistant(call('x.y'))],
    }
    expect(JSON.stringify(encode(fields).body)).toBe(JSON.stringify(encode(structuredClone(fields)).body))
  })
})

test('edge 79: tokens are counted with instructions and tools, for models and tuned models by their full name', () => {
  const count = codec.tokenCount
  const body = count?.encodeRequest(
    generationRequest({ instructions: [textPart('s')], tools: [tool('f')] }),
    target(G25),
  )
  expect(body).toMatchObject({
    generateContentRequest: {
      model: `models/${G25}`,
      systemInstruction: { parts: [{ text: 's' }] },
      tools: [{}],
    },
  })
  expect(count?.encodeRequest(generationRequest(), target('tunedModels/x'))).toMatchObject({
    generateContentRequest: { model: 'tunedModels/x' },
  })
  expect(count?.decodeResponse({ totalTokens: 31 })).toBe(31)
  expect(count?.decodeResponse({})).toBeUndefined()
  expect(count?.encodeResponse(5)).toEqual({ totalTokens: 5 })
})

test.each([
  'aiplatform.googleapis.com',
  'us-central1-aiplatform.googleapis.com',
  'aiplatform.eu.rep.googleapis.com',
])('a count at Vertex (%s), which has no such form, holds what is counted and nothing else', vendor => {
  const request = generationRequest({
    instructions: [textPart('s')],
    tools: [tool('f')],
    temperature: 0.5,
    maxOutputTokens: 9,
  })
  expect(codec.tokenCount?.encodeRequest(request, { ...target(G3), vendor })).toEqual({
    systemInstruction: { parts: [{ text: 's' }] },
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
  })
})
