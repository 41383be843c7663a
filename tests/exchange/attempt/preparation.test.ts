import { describe, expect, test } from 'bun:test'
import { ratesOf } from '#tests/pricing/samples.ts'
import { channelOf, modelOf, routeOf } from '#tests/support/channels.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import { type PrepareOptions, prepare } from '@/exchange/attempt/preparation.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Model } from '@/routing/model.ts'
import type { Channel } from '@/upstream/channel.ts'

const OPTIONS = {
  answers: 1,
  requestId: 'request',
  now: 0,
  newId: () => 'id',
  strict: false,
  goesOn: false,
}

function promptOf(surface: ConversationSurface, json: JsonObject, more: Partial<Wish> = {}): Prompt {
  const body = { bytes: Buffer.from(JSON.stringify(json)), json }
  const usual = { stream: false, headers: new Headers() }
  return new Prompt({ surface, body, model: 'm', framing: 'sse', ...usual, ...more })
}

/** What a request says beside its body. */
interface Wish {
  stream: boolean
  headers: Headers
  purpose: Prompt['purpose']
}

/** What a Chat upstream at this host is sent of a Chat caller's message, and what is named as lost. */
function handedOn(vendor: string, message: JsonObject, strict = false) {
  const json = { model: 'm', messages: [{ role: 'user', content: 'q' }, message] }
  const prompt = promptOf('chat', json)
  const route = routeOf(channelOf(1, { baseUrl: `https://${vendor}/v1`, vendor }))
  const model = modelOf('m', { routes: [route] })
  const { body, losses } = prepare(prompt, model, route, { ...OPTIONS, strict })
  return { message: JSON.parse(new TextDecoder().decode(body)).messages[1], losses }
}

describe('thoughts that a Chat caller sends back, which are handed on with the rest of the body', () => {
  const said = { role: 'assistant', content: 'a' }
  const thought = { ...said, reasoning_content: 't' }
  const LOST = ['messages.reasoning_content']

  test.each([
    ['api.mistral.ai', thought, said, LOST],
    ['api.mistral.ai', { ...said, reasoning_content: '' }, said, []],
    ['api.mistral.ai', said, said, []],
    ['api.groq.com', thought, { ...said, reasoning: 't' }, []],
    ['api.groq.com', { ...said, reasoning_details: [{ type: 'reasoning.text', text: 't' }] }, said, LOST],
    ['api.deepseek.com', thought, thought, []],
  ])('are named as lost where %s would refuse them: %j', (vendor, message, sent, losses) => {
    expect(handedOn(vendor, message)).toEqual({ message: sent, losses })
  })

  test('are a 400 in place of a loss in strict mode', () => {
    expect(() => handedOn('api.mistral.ai', thought, true)).toThrow('messages.reasoning_content')
    expect(handedOn('api.deepseek.com', thought, true).losses).toEqual([])
  })
})

test('thoughts that an upstream could not read are named as lost by a conversion as well', () => {
  const json = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'q' }] }
  const prompt = promptOf('messages', json)
  const route = routeOf(channelOf(1))
  const lossesOf = () => prepare(prompt, modelOf('m', { routes: [route] }), route, OPTIONS).losses
  expect(lossesOf()).toEqual([])
  prompt.withoutReasoning = true
  expect(lossesOf()).toEqual(['messages.content.thinking'])
})

const MESSAGES = [{ role: 'user', content: 'q' }]
const ASKED = { model: 'm', max_tokens: 9, messages: MESSAGES }

/** What the upstream of a channel is sent. */
function sentTo(
  channel: Partial<Channel>,
  prompt: Prompt,
  { options = {}, model = {} }: { options?: Partial<PrepareOptions>; model?: Partial<Model> } = {},
) {
  const route = routeOf(channelOf(1, channel))
  const preparation = prepare(prompt, modelOf('m', { routes: [route], ...model }), route, {
    ...OPTIONS,
    ...options,
  })
  return { preparation, json: JSON.parse(new TextDecoder().decode(preparation.body)) }
}

describe('the output limit that the balance sets', () => {
  test.each<[string, Partial<Channel>]>([
    ['handed on', {}],
    ['written anew', { functionToolsOnly: true }],
    ['written for another format', { format: 'anthropic-messages' }],
  ])('is in a request that is %s', (_, channel) => {
    const prompt = promptOf('chat', { model: 'm', messages: MESSAGES })
    prompt.outputLimit = 300
    const { json } = sentTo(channel, prompt)
    expect(json.max_completion_tokens ?? json.max_tokens).toBe(300)
  })

  test('holds for the thought of a model that may write more', () => {
    const prompt = promptOf('chat', { model: 'm', messages: MESSAGES, reasoning_effort: 'high' })
    prompt.outputLimit = 3000
    const { json } = sentTo({ format: 'anthropic-messages' }, prompt, {
      model: { maxOutputTokens: 64_000 },
    })
    expect(json.max_tokens).toBe(3000)
  })
})

test('a conversion marks what is to be cached, and leaves it to a caller of the same format', () => {
  const system = 's'.repeat(20_000)
  const channel = { format: 'anthropic-messages', cachePrompts: true, functionToolsOnly: true } as const
  const chat = promptOf('chat', {
    model: 'm',
    messages: [{ role: 'system', content: system }, ...MESSAGES],
  })
  expect(JSON.stringify(sentTo(channel, chat).json)).toContain('cache_control')
  const messages = promptOf('messages', { ...ASKED, system })
  expect(JSON.stringify(sentTo(channel, messages).json)).not.toContain('cache_control')
})

test('a request that is written anew in its own format keeps the headers of its caller, and no other does', () => {
  const headers = new Headers({ 'anthropic-beta': 'one' })
  const prompt = promptOf('messages', ASKED, { headers })
  const own = { format: 'anthropic-messages', functionToolsOnly: true } as const
  expect(sentTo(own, prompt).preparation.headers['anthropic-beta']).toBe('one')
  expect(sentTo({}, prompt).preparation.headers['anthropic-beta']).toBeUndefined()
})

describe('a Gemini conversation over Gemini', () => {
  const call = (name: string) => ({ functionCall: { name, args: {} } })
  const result = (name: string) => ({ functionResponse: { name, response: { said: name } } })
  const user = (...parts: JsonObject[]) => ({ role: 'user', parts })
  const ASKS = [user({ text: 'q' }), { role: 'model', parts: [call('f'), call('g')] }]
  const sent = (...answers: JsonObject[]) => {
    const prompt = promptOf('gemini', { contents: [...ASKS, ...answers] })
    const { preparation, json } = sentTo({ format: 'gemini-generate-content' }, prompt)
    const said = json.contents[2].parts.map((part: JsonObject) => part['functionResponse'] ?? part['text'])
    return { isConverted: preparation.conversion !== undefined, contents: json.contents.length, said }
  }
  const NO_RESULT = { result: 'No result was recorded for this call.' }

  test('is handed on where each call has its result in the content behind it', () => {
    const said = [result('f').functionResponse, result('g').functionResponse]
    expect(sent(user(result('f'), result('g')))).toEqual({ isConverted: false, contents: 3, said })
    const chunks = [user({ text: 'q' }), ...['f', 'g'].map(name => ({ role: 'model', parts: [call(name)] }))]
    for (const contents of [ASKS, [...chunks, user(result('f'), result('g'))]]) {
      const { preparation } = sentTo({ format: 'gemini-generate-content' }, promptOf('gemini', { contents }))
      expect(preparation.conversion).toBeUndefined()
    }
  })

  test.each(['cachedContent', 'cached_content'])(
    'is handed on where the calls may stand in its %s',
    field => {
      const prompt = promptOf('gemini', { contents: [user(result('f'))], [field]: 'cachedContents/1' })
      const { preparation } = sentTo({ format: 'gemini-generate-content' }, prompt)
      expect(preparation.conversion).toBeUndefined()
    },
  )

  test.each<[string, JsonObject[], unknown[]]>([
    ['a content each', [user(result('f')), user(result('g'))], [{ said: 'f' }, { said: 'g' }]],
    [
      'them behind a text of its own',
      [user({ text: 't' }), user(result('f'), result('g'))],
      [{ said: 'f' }, { said: 'g' }],
    ],
    ['fewer of them', [user(result('f'))], [{ said: 'f' }, NO_RESULT]],
  ])(
    'has as many results as calls in one content, as Google demands, where its caller says %s',
    (_, answers, responses) => {
      const { isConverted, contents, said } = sent(...answers)
      expect({ isConverted, contents }).toEqual({ isConverted: true, contents: 3 })
      expect(said.slice(0, 2).map((part: JsonObject) => part['response'])).toEqual(responses)
    },
  )
})

test.each([
  ['api.openai.com', true],
  ['mine.openai.azure.com', true],
  ['openrouter.ai', false],
])(
  '%s is handed an item that asks for a compaction: %j; who is not writes a summary',
  (vendor, isHandedOn) => {
    const asks = { type: 'compaction_trigger' }
    const prompt = promptOf(
      'responses',
      { model: 'm', input: [...MESSAGES, asks] },
      { purpose: 'compaction-item' },
    )
    const { json, preparation } = sentTo({ format: 'openai-responses', vendor }, prompt)
    expect(JSON.stringify(json).includes('compaction_trigger')).toBe(isHandedOn)
    expect(JSON.stringify(json).includes('Summarise the conversation')).toBe(!isHandedOn)
    expect(preparation.asksForSummary).toBe(!isHandedOn)
  },
)

test('half a surrogate pair of the caller is not sent on by a conversion', () => {
  const prompt = promptOf('messages', { ...ASKED, messages: [{ role: 'user', content: 'a\ud800b' }] })
  const { body } = sentTo({}, prompt).preparation
  expect(new TextDecoder('utf-8', { fatal: true }).decode(body as Uint8Array)).not.toMatch(/\\ud800/i)
})

describe('the service tier that was asked for', () => {
  const flex = { tokens: { output: 1n }, tiers: [] }
  const price = { version: 1n, rates: ratesOf({}, { serviceTiers: new Map([['flex', flex]]) }) }
  const prompt = promptOf('chat', { model: 'm', messages: MESSAGES, service_tier: 'flex' })

  test.each([
    ['handed on', {}],
    ['written anew', { functionToolsOnly: true }],
  ])('is known of a request that is %s where the model has prices for tiers', (_, channel) => {
    expect(sentTo(channel, prompt, { model: { price } }).preparation.askedTier).toBe('flex')
    expect(sentTo(channel, prompt).preparation.askedTier).toBeUndefined()
  })
})

describe('what a reply repeats of its request', () => {
  test('is the second in which it began, and its body without the conversation', () => {
    const { preparation } = sentTo({}, promptOf('messages', ASKED), { options: { now: 1999 } })
    expect(preparation.reply()).toMatchObject({ createdAt: 1, wire: { model: 'm', max_tokens: 9 } })
    expect(preparation.reply().wire).not.toHaveProperty('messages')
  })

  test('is the length of the prompt only where a stream names that first', () => {
    const lengthOf = (surface: 'messages' | 'chat', stream: boolean) =>
      sentTo({ functionToolsOnly: true }, promptOf(surface, ASKED, { stream })).preparation.reply()
        .estimatedInputTokens
    expect(lengthOf('messages', true)).toBeGreaterThan(0)
    expect(lengthOf('messages', false)).toBeUndefined()
    expect(lengthOf('chat', true)).toBeUndefined()
  })
})

test('whoever reads the answer is told how many were asked for', () => {
  const { preparation } = sentTo({}, promptOf('chat', ASKED), { options: { answers: 3 } })
  expect(preparation.decodeContext.answers).toBe(3)
})

test('in strict mode thoughts that were kept here may be lost, since the caller cannot leave them out', () => {
  const prompt = promptOf('messages', ASKED)
  prompt.withoutReasoning = true
  const LOST = 'messages.content.thinking'
  expect(() => sentTo({}, prompt, { options: { strict: true } })).toThrow(LOST)
  const { preparation } = sentTo({}, prompt, { options: { strict: true, goesOn: true } })
  expect(preparation.losses).toEqual([LOST])
})
