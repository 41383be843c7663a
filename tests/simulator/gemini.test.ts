import { describe, expect, test } from 'bun:test'
import { type Content, FunctionCallingConfigMode, type GenerateContentConfig } from '@google/genai'
import { collect, rejection, runSimulator, WEATHER_INPUT, WEATHER_SCHEMA } from './running.ts'

const { google, post } = runSimulator()

const tools = (...names: string[]) => [
  { functionDeclarations: names.map(name => ({ name, parametersJsonSchema: WEATHER_SCHEMA })) },
]
const user = (text: string): Content => ({ role: 'user', parts: [{ text }] })

/** The same request whole and streamed; increments are joined as the SDK leaves it to its callers. */
async function both(model: string, contents: string | Content[], config: GenerateContentConfig = {}) {
  const whole = await google.models.generateContent({ model, contents, config })
  const chunks = await collect(await google.models.generateContentStream({ model, contents, config }))
  const parts = chunks.flatMap(chunk => chunk.candidates?.[0]?.content?.parts ?? [])
  return {
    whole,
    chunks,
    parts,
    text: parts
      .filter(part => part.thought !== true)
      .map(part => part.text ?? '')
      .join(''),
    last: chunks.at(-1),
  }
}

describe('generateContent through the official SDK', () => {
  test('echo repeats the last user text, streamed and whole, with the same usage', async () => {
    const { whole, chunks, text, last } = await both('echo', 'Hello wide 🌍 world', {
      systemInstruction: 'Be kind.',
    })
    expect(whole.text).toBe('Hello wide 🌍 world')
    expect(text).toBe('Hello wide 🌍 world')
    expect(whole.usageMetadata).toMatchObject({
      promptTokenCount: 8,
      candidatesTokenCount: 4,
      totalTokenCount: 12,
    })
    expect(last?.usageMetadata).toEqual(whole.usageMetadata)
    expect(chunks.every(chunk => chunk.usageMetadata !== undefined)).toBe(true)
    expect(last?.candidates?.[0]?.finishReason?.toString()).toBe('STOP')
  })

  test('turns need not alternate: the SDKs keep a streamed answer as one content per chunk', async () => {
    const answered: Content[] = ['one', ' two'].map(text => ({ role: 'model', parts: [{ text }] }))
    const { whole } = await both('echo', [user('x'), ...answered, user('y'), user('z')])
    expect(whole.text).toBe('z')
  })

  test('events end in CRLF, and without alt=sse the stream is one JSON array', async () => {
    const body = { contents: [user('a b')] }
    const events = await (await post('/v1beta/models/echo:streamGenerateContent?alt=sse', body)).text()
    expect(events).toMatch(/^(data: \{.*\}\r\n\r\n){3}$/)
    const array: unknown = JSON.parse(
      await (await post('/v1alpha/models/echo:streamGenerateContent', body)).text(),
    )
    expect(array).toMatchObject([
      { candidates: [{ content: { parts: [{ text: 'a' }] } }] },
      {},
      { candidates: [{ finishReason: 'STOP' }] },
    ])
  })

  test('reason: thoughts, then a signature on the last text part', async () => {
    const { whole, parts } = await both('reason', 'x', { thinkingConfig: { includeThoughts: true } })
    expect(whole.candidates?.[0]?.content?.parts).toMatchObject([
      { text: 'Thinking about: x', thought: true },
      { text: 'x', thoughtSignature: expect.any(String) },
    ])
    expect(parts.at(-1)).toMatchObject({ text: '', thoughtSignature: expect.any(String) })
    expect(whole.usageMetadata).toMatchObject({ thoughtsTokenCount: 3, candidatesTokenCount: 1 })
    const hidden = await both('reason', 'x', { thinkingConfig: { thinkingBudget: 100 } })
    expect(hidden.parts.some(part => part.thought)).toBe(false)
    expect(hidden.whole.usageMetadata?.thoughtsTokenCount).toBe(3)
  })

  test('tool: calls with fitting arguments, then answers from the result', async () => {
    const config = { tools: tools('weather') }
    const { whole, parts, last } = await both('tool', 'How is it?', config)
    const call = whole.functionCalls?.[0]
    expect(call).toEqual({ name: 'weather', args: WEATHER_INPUT })
    expect(parts).toMatchObject([{ functionCall: { name: 'weather', args: WEATHER_INPUT } }])
    expect(last?.candidates?.[0]?.finishReason?.toString()).toBe('STOP')
    const model = whole.candidates?.[0]?.content
    if (model === undefined) throw new Error('no content')
    const answer: Content = {
      role: 'user',
      parts: [{ functionResponse: { name: 'weather', response: { result: 'sunny' } } }],
    }
    const next = await both('tool', [user('How is it?'), model, answer], config)
    expect(next.whole.text).toBe('Result: sunny')
    expect(next.text).toBe('Result: sunny')
  })

  test('parallel: two parts, and Gemini 3 signs the first and gives ids', async () => {
    const { parts } = await both('gemini-3-pro/parallel', 'x', { tools: tools('first', 'second') })
    expect(parts).toMatchObject([
      {
        functionCall: { id: expect.any(String), name: 'first', args: WEATHER_INPUT },
        thoughtSignature: expect.any(String),
      },
      { functionCall: { id: expect.any(String), name: 'second', args: WEATHER_INPUT } },
    ])
    expect(parts[1]?.thoughtSignature).toBeUndefined()
  })

  test('a forced function is called by any model', async () => {
    const toolConfig = {
      functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['second'] },
    }
    expect(
      (await both('echo', 'x', { tools: tools('first', 'second'), toolConfig })).whole.functionCalls,
    ).toMatchObject([{ name: 'second' }])
  })

  test('limits, stop sequences and structured output', async () => {
    const long = await both('long-50', 'x', { maxOutputTokens: 7 })
    expect(long.whole.candidates?.[0]?.finishReason?.toString()).toBe('MAX_TOKENS')
    expect(long.last?.usageMetadata?.candidatesTokenCount).toBe(7)
    expect((await both('echo', 'one two three', { stopSequences: ['two'] })).text).toBe('one ')
    const config = { responseMimeType: 'application/json', responseJsonSchema: WEATHER_SCHEMA }
    expect(JSON.parse((await both('echo', 'x', config)).text)).toEqual(WEATHER_INPUT)
    const upper = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] }
    const body = {
      contents: [user('x')],
      generation_config: { response_mime_type: 'application/json', response_schema: upper },
    }
    expect(await (await post('/v1/models/echo:generateContent', body)).json()).toMatchObject({
      candidates: [{ content: { parts: [{ text: '{"city":"text"}' }] } }],
    })
  })

  test('candidates and log probabilities', async () => {
    const { whole } = await both('echo', 'a b', { candidateCount: 2, responseLogprobs: true, logprobs: 2 })
    expect(whole.candidates).toHaveLength(2)
    expect(whole.candidates?.[1]?.logprobsResult).toMatchObject({
      chosenCandidates: [{ token: 'a' }, { token: ' b' }],
      topCandidates: [{ candidates: [{}, {}] }, {}],
    })
  })

  test('image is an inlineData part, filter stops for safety', async () => {
    expect((await both('image', 'x')).parts.at(-1)).toMatchObject({ inlineData: { mimeType: 'image/png' } })
    expect((await both('filter', 'x')).whole.candidates?.[0]?.finishReason?.toString()).toBe('SAFETY')
  })

  test('tokens are counted as the answer counts them, in both shapes', async () => {
    expect(await google.models.countTokens({ model: 'echo', contents: 'twelve bytes' })).toMatchObject({
      totalTokens: 3,
    })
    const generateContentRequest = { model: 'models/echo', contents: [user('twelve bytes')] }
    expect(
      await (await post('/v1beta/models/echo:countTokens', { generateContentRequest })).json(),
    ).toMatchObject({ totalTokens: 3 })
  })

  test.each(['error-midstream', 'error-first', 'cut-2'])(
    '%s is an error for the SDK, not an end',
    async model => {
      const request = { model: `${model}+long-9`, contents: 'x' }
      expect(await rejection(google.models.generateContentStream(request).then(collect))).toBeString()
    },
  )

  test('errors have the vendor shape, in an array on the array stream', async () => {
    const limited = await post('/v1beta/models/error-429:generateContent', { contents: [user('x')] })
    expect(limited.status).toBe(429)
    expect(await limited.json()).toMatchObject({
      error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{}, { retryDelay: '1s' }] },
    })
    const missing = await post('/v1beta/models/nothing:streamGenerateContent', { contents: [user('x')] })
    expect(await missing.json()).toMatchObject([{ error: { code: 404, status: 'NOT_FOUND' } }])
    const keyless = await post('/v1beta/models/echo:generateContent', {}, { authorization: '' })
    expect(await keyless.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
  })
})

const call = { functionCall: { name: 'f', args: {} } }
const response = { functionResponse: { name: 'f', response: { result: 'x' } } }
const model = (...parts: unknown[]) => ({ role: 'model', parts })
const answer = (...parts: unknown[]) => ({ role: 'user', parts })
const declaration = (more: Record<string, unknown>) => ({
  tools: [{ functionDeclarations: [{ name: 'f', ...more }] }],
})

describe('generateContent refuses', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['an unknown field', { tomorrow: 1 }, 'Unknown name "tomorrow"'],
    [
      'an unknown field deep inside',
      { generationConfig: { thinkingConfig: { effort: 1 } } },
      `Unknown name "effort" at 'generation_config.thinking_config'`,
    ],
    [
      'JSON Schema keywords in parameters',
      declaration({
        parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', additionalProperties: false } } },
      }),
      'Unknown name "additionalProperties" at',
    ],
    [
      'object parameters without properties',
      declaration({ parameters: { type: 'OBJECT' } }),
      'should be non-empty for OBJECT type',
    ],
    [
      'a list of types',
      declaration({ parameters: { type: ['object'], properties: {} } }),
      'Proto field is not repeating',
    ],
    ['a function name with a space', declaration({ name: 'a b' }), 'Invalid function name'],
    [
      'fewer responses than calls',
      { contents: [user('x'), model(call, call), answer(response)] },
      'number of function response parts',
    ],
    ['a response without its call', { contents: [answer(response)] }, 'number of function response parts'],
    [
      'a response of another name',
      { contents: [user('x'), model(call), answer({ functionResponse: { name: 'g', response: {} } })] },
      'names match',
    ],
    [
      'a response that is no object',
      { contents: [user('x'), model(call), answer({ functionResponse: { name: 'f', response: 'x' } })] },
      'Struct',
    ],
    [
      'a response that refers to media that it does not have',
      {
        contents: [
          user('x'),
          model(call),
          answer({ functionResponse: { name: 'f', response: { a: [{ $ref: '#/b' }] } } }),
        ],
      },
      'The referenced name `#/b` in function_response.response',
    ],
    ['an empty part', { contents: [answer({})] }, 'one initialized field'],
    ['empty text', { contents: [user('')] }, 'one initialized field'],
    ['an empty content', { contents: [answer()] }, 'must not be empty'],
    [
      'two kinds in one part',
      { contents: [answer({ text: 'x', inlineData: { mimeType: 'image/png', data: '' } })] },
      'oneof',
    ],
    ['an unknown role', { contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] }, 'valid role'],
    [
      'a foreign signature',
      { contents: [user('x'), model({ text: 'x', thoughtSignature: 'Zm9yZWlnbg==' }), user('y')] },
      'Corrupted thought signature',
    ],
    [
      'six stop sequences',
      { generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] } },
      'at most 5',
    ],
    ['a schema without the JSON type', { generationConfig: { responseJsonSchema: {} } }, 'mime type'],
    [
      'a budget and a level',
      { generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } } },
      'only one of',
    ],
    [
      'names that are allowed in no mode',
      { toolConfig: { functionCallingConfig: { allowedFunctionNames: ['f'] } } },
      'allowed_function_names',
    ],
  ])('%s', async (_, body, message) => {
    const refused = await post('/v1beta/models/echo:generateContent', { contents: [user('x')], ...body })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(message) },
    })
  })

  test('a Gemini 3 call of the current turn without its signature, unless it is the documented bypass', async () => {
    const send = (part: unknown, later: unknown[] = []) =>
      post('/v1beta/models/gemini-3-pro/echo:generateContent', {
        contents: [user('x'), model(part), answer(response), ...later],
      })
    expect((await send(call)).status).toBe(400)
    expect((await send({ ...call, thoughtSignature: 'skip_thought_signature_validator' })).status).toBe(200)
    expect((await send(call, [model({ text: 'x' }), user('next')])).status).toBe(200)
  })

  test('but takes snake_case, a missing role, and free-form arguments', async () => {
    const contents = [
      { parts: [{ text: 'x' }] },
      model({ function_call: { name: 'f', args: { any_thing: { tomorrow: 1 } } } }),
      answer({ function_response: { name: 'f', response: { any_thing: 1 } } }),
    ]
    expect(
      (
        await post('/v1beta/models/echo:generateContent', {
          contents,
          system_instruction: { parts: [{ text: 'x' }] },
        })
      ).status,
    ).toBe(200)
  })

  test("and the numbers of enums, as Google's older SDK for Python writes them", async () => {
    const calling = await post('/v1beta/models/echo:generateContent', {
      contents: [user('x')],
      tools: [
        {
          functionDeclarations: [
            { name: 'f', parameters: { type: 6, properties: { n: { type: 3 } }, required: ['n'] } },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: 2 } },
    })
    expect(await calling.json()).toMatchObject({
      candidates: [
        { content: { parts: [{ functionCall: { name: 'f', args: { n: expect.any(Number) } } }] } },
      ],
    })
  })
})
