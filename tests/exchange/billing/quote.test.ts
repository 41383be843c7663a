import { expect, test } from 'bun:test'
import { bodyTerms } from '#tests/support/body-terms.ts'
import { callerBy } from '#tests/support/caller.ts'
import { channelOf, modelOf, routeOf } from '#tests/support/channels.ts'
import type { Caller } from '@/accounts/account.ts'
import { outlineOf, readBody, textsOf } from '@/exchange/admission/body.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import { isWorthBeginning, quote, quoteOperation } from '@/exchange/billing/quote.ts'
import { weighPrompt } from '@/exchange/billing/token-estimate.ts'
import type { Format } from '@/generation/format.ts'
import { readPrices } from '@/generation/rate-text.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Model } from '@/routing/model.ts'

const MODEL = modelOf('m', {
  maxOutputTokens: 1000,
  price: {
    version: 1n,
    rates: readPrices({
      input: '1',
      output: '1',
      cache_write_1h: '2',
      input_audio: '10',
      output_audio: '20',
    }),
  },
})

const TERMS = bodyTerms(10 ** 7)
const CALLER = callerBy(1, 1)

async function quoteOf(
  surface: ConversationSurface,
  text: string,
  { model = MODEL, caller = CALLER, stream = true, ...more }: Terms = {},
) {
  const body = await readBody(new Request('http://tollgate/', { method: 'POST', body: text }), TERMS)
  const headers = new Headers()
  const prompt = new Prompt({ surface, body, model: 'm', stream, framing: 'sse', headers, ...more })
  return { quoted: quote(prompt, model, caller), body }
}

interface Terms {
  model?: Model
  caller?: Caller
  stream?: boolean
  /** The body's, where it is not the surface's. */
  format?: Format
}

test.each<[ConversationSurface, object, number]>([
  ['chat', { n: 3, max_tokens: 50 }, 150],
  ['chat', { n: '3', max_tokens: '50' }, 150],
  ['chat', { n: 'three', max_tokens: 50 }, 50],
  ['gemini', { generationConfig: { candidateCount: '3', maxOutputTokens: '50' } }, 150],
])('%s is held for what it states, also where that is written as a text: %j', async (surface, said, most) => {
  const { quoted } = await quoteOf(surface, JSON.stringify({ model: 'm', messages: [], ...said }))
  expect([quoted.maxOutput, quoted.allowance]).toEqual([most, most])
})

test.each([
  ['max_tokens', 0, 2_147_483_647],
  ['n', 1, 1_000],
])('%s is a whole number from %d to %d, or the request is refused', async (name, least, most) => {
  const quoting = (value: number) =>
    quoteOf('chat', JSON.stringify({ model: 'm', messages: [], [name]: value }))
  for (const value of [least, most]) expect((await quoting(value)).quoted.maxOutput).toBeGreaterThanOrEqual(0)
  const message = `'${name}' must be a whole number from ${least} to ${most}`
  for (const value of [least - 1, most + 1, least + 0.5])
    await expect(quoting(value)).rejects.toThrow(message)
  const beyond = quoteOf('chat', `{"model":"m","messages":[],"${name}":1e400}`)
  await expect(beyond).rejects.toThrow(message)
})

test.each([
  ['what is stated', undefined, { max_tokens: 50 }, 50],
  ['what its model writes, where more is stated', 1000, { max_tokens: 2_147_483_647 }, 1000],
  ['what its model writes, where nothing is', 1000, {}, 1000],
  [
    'what any model writes, where more is stated and nobody knows',
    undefined,
    { max_tokens: 200_000 },
    131_072,
  ],
  ['a long answer, where nothing is stated and nobody knows', undefined, {}, 16_384],
])('no answer is held for as more than %s', async (_, maxOutputTokens, said, most) => {
  const model = { ...MODEL, maxOutputTokens }
  const { quoted } = await quoteOf('chat', JSON.stringify({ model: 'm', messages: [], ...said }), { model })
  expect(quoted.maxOutput).toBe(most)
})

test('an answer that nobody limited is begun where 256 tokens of it are paid for', () => {
  expect([255, 256].map(isWorthBeginning)).toEqual([false, true])
})

const LONG: Model = { ...MODEL, maxOutputTokens: 50_000 }
const HI = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })

test('a stream is paid for in slices, but by whoever has not paid yet, and a whole answer, at once', async () => {
  const first = async (options: Parameters<typeof quoteOf>[2]) =>
    (await quoteOf('chat', HI, { model: LONG, ...options })).quoted.firstOutput
  expect(await first({})).toBe(2048)
  expect(await first({ caller: { ...CALLER, onTrial: true } })).toBe(50_000)
  expect(await first({ stream: false })).toBe(50_000)
})

test('the limits reckon with what is stated, however much, and with a moderate answer where nothing is', async () => {
  const stated = JSON.stringify({ model: 'm', messages: [], max_tokens: 30_000 })
  expect((await quoteOf('chat', stated, { model: LONG })).quoted.allowance).toBe(30_000)
  expect((await quoteOf('chat', HI, { model: LONG })).quoted.allowance).toBe(2048)
})

test('the limits are told whether that is what the caller allows, or a guess', async () => {
  const stated = JSON.stringify({ model: 'm', messages: [], max_tokens: 30 })
  expect((await quoteOf('chat', stated)).quoted.isAllowanceStated).toBe(true)
  expect((await quoteOf('chat', HI)).quoted.isAllowanceStated).toBe(false)
  const made = quoteOperation({ work: 'text', ceiling: { inputTokens: 5, outputTokens: 9_000 } }, MODEL)
  expect([made.allowance, made.isAllowanceStated]).toEqual([2048, false])
})

test('credit pays for what the dearest of the tiers leaves that may serve the request, wherever it stands', async () => {
  const service_tiers = { priority: { input: '3', output: '20' }, flex: { output: '0.5' } }
  const rates = readPrices({ input: '1', output: '1', service_tiers })
  const model = { ...LONG, routes: [routeOf(channelOf(1))], price: { version: 1n, rates } }
  const { quoted } = await quoteOf('chat', HI, { model })
  const credit = 10n ** 7n
  const tokens = quoted.affordable(credit) ?? 0
  expect(tokens).toBeWithin(400, 500)
  expect([quoted.bound(tokens) <= credit, quoted.bound(tokens + 1) <= credit]).toEqual([true, false])
})

test('no credit pays for more than there can be', async () => {
  const { quoted } = await quoteOf('chat', HI)
  expect(quoted.affordable(10n ** 15n)).toBe(1000)
})

test('credit that does not pay for the prompt pays for no answer, nor does none at all where both are free', async () => {
  const { quoted } = await quoteOf('chat', HI)
  expect(quoted.affordable(quoted.bound(0) - 1n)).toBe(0)
  const price = { version: 1n, rates: readPrices({ input: '0', output: '0' }) }
  const free = (await quoteOf('chat', HI, { model: { ...MODEL, price } })).quoted
  expect([0n, 1n].map(free.affordable)).toEqual([0, 1000])
})

test('what is stated in the words of the upstream is held for as it is, but where the reply has others', async () => {
  const stated = JSON.stringify({ model: 'm', input: 'hi', max_output_tokens: 5 })
  const model = { ...LONG, routes: [routeOf(channelOf(1, { format: 'openai-responses' }))] }
  const most = async (surface: ConversationSurface) =>
    (await quoteOf(surface, stated, { model, format: 'openai-responses' })).quoted.maxOutput
  expect([await most('responses'), await most('chat')]).toEqual([5, 16])
})

test('what a caller states in the words of the upstream is held for as it is, thought and all', async () => {
  const thinking = { type: 'enabled', budget_tokens: 2000 }
  const stated = JSON.stringify({ model: 'm', messages: [], max_tokens: 3000, thinking })
  const route = routeOf(channelOf(1, { format: 'anthropic-messages' }))
  const { quoted } = await quoteOf('messages', stated, { model: { ...LONG, routes: [route] } })
  expect(quoted.maxOutput).toBe(3000)
})

test.each<[ConversationSurface, object]>([
  ['chat', { messages: [{ role: 'user', content: 'hi' }], max_tokens: 1000, reasoning_effort: 'high' }],
  [
    'gemini',
    {
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 1000, thinkingConfig: { thinkingBudget: 8000 } },
    },
  ],
])(
  'of upstreams that are asked for more than %s states, since thought comes on top, the most is held',
  async (surface, said) => {
    const body = JSON.stringify({ model: 'm', ...said })
    const held = async (...formats: Format[]) => {
      const routes = formats.map(format =>
        routeOf(channelOf(1, { format }), { upstreamModel: 'claude-sonnet-4-5' }),
      )
      return (await quoteOf(surface, body, { model: { ...LONG, routes } })).quoted.maxOutput
    }
    const least = await held('openai-responses')
    const most = await held('anthropic-messages')
    expect([least, most > 2 * least]).toEqual([1000, true])
    expect(await held('anthropic-messages', 'openai-responses')).toBe(most)
    expect(await held('openai-responses', 'anthropic-messages')).toBe(most)
  },
)

test('a prompt that is likely longer than its model is said to read is held for in full', async () => {
  const text = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'word '.repeat(1000) }] })
  const { quoted } = await quoteOf('chat', text, { model: { ...MODEL, contextTokens: 10 } })
  expect(quoted.inputTokens).toBeGreaterThan(500)
  expect(quoted.bound(0)).toBeGreaterThanOrEqual(BigInt(quoted.inputTokens) * 1000n)
})

test('no prompt is held for as more than its model reads, if that is likely at all', async () => {
  const text = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'word '.repeat(1000) }] })
  const likely = (await quoteOf('chat', text)).quoted.inputTokens
  const { quoted } = await quoteOf('chat', text, { model: { ...MODEL, contextTokens: likely + 10 } })
  expect(quoted.bound(0)).toBe(BigInt(likely + 10) * 1000n)
})

/** What a token of the prompt is taken to cost at most, in nano. */
async function perPromptToken(surface: ConversationSurface, json: JsonObject): Promise<bigint> {
  return perTokenOf(surface, JSON.stringify(json))
}

async function perTokenOf(surface: ConversationSurface, text: string): Promise<bigint> {
  const { quoted, body } = await quoteOf(surface, text)
  const { most } = weighPrompt(outlineOf(body), body.bytes.length, textsOf(body))
  return quoted.bound(0) / BigInt(most)
}

const said = (content: unknown): JsonObject => ({ messages: [{ role: 'user', content }] }) as JsonObject
const cached = (ttl: string) =>
  said([{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral', ttl } }])
const sound = said([{ type: 'input_audio', input_audio: { format: 'wav', data: 'AAAA' } }])
const soundAt = (uri: string): JsonObject => ({ contents: [{ parts: [{ fileData: { fileUri: uri } }] }] })

test.each<[string, ConversationSurface, JsonObject, bigint]>([
  ['plain text costs what plain text costs', 'messages', said('hi'), 1000n],
  ['a cache for five minutes is none for an hour', 'messages', cached('5m'), 1000n],
  ['a cache for an hour', 'messages', cached('1h'), 2000n],
  ['sound', 'chat', sound, 10_000n],
  ['sound by its address', 'gemini', soundAt('https://example.com/audio/1'), 10_000n],
])('a hold reckons with the dearest that the request can use, however large it is: %s', async (...it) => {
  const [, surface, json, expected] = it
  expect(await perPromptToken(surface, json)).toBe(expected)
  // A large body is looked at without its long strings.
  expect(await perPromptToken(surface, { ...json, metadata: { long: 'x'.repeat(100_000) } })).toBe(expected)
})

test.each([
  ['is written', said('hi'), 1000n],
  ['may be spoken', { ...said('hi'), modalities: ['text', 'audio'] }, 20_000n],
])('a hold reckons with an answer that %s', async (_, json, expected) => {
  const { quoted } = await quoteOf('chat', JSON.stringify(json))
  expect(quoted.bound(1) - quoted.bound(0)).toBe(expected)
})

test('a sound that is told at the end of a long string is found', async () => {
  const uri = `https://example.com/${'x'.repeat(100_000)}/audio`
  expect(await perPromptToken('gemini', soundAt(uri))).toBe(10_000n)
})

test.each([
  ['messages', cached('1h'), '1h', '1\\u0068'],
  ['messages', cached('1h'), '1h', '\\u0031h'],
  ['chat', sound, 'input_audio', 'input_\\u0061udio'],
  ['gemini', soundAt('https://example.com/audio/1'), 'audio', 'a\\u0075dio'],
] as const)(
  'nothing is hidden from a hold on %s by its spelling: %j',
  async (surface, json, word, spelled) => {
    const text = JSON.stringify(json).replaceAll(word, spelled)
    expect(JSON.parse(text)).toEqual(json)
    expect(await perTokenOf(surface, text)).toBeGreaterThanOrEqual(await perPromptToken(surface, json))
  },
)

test("what Go's encoder escapes in every text, as \\u003c for <, makes no hold dearer", async () => {
  const text = JSON.stringify(said('<b> & "</b>')).replace(
    /[<>&]/g,
    it => `\\u00${it.charCodeAt(0).toString(16)}`,
  )
  expect(text).toContain('\\u003c')
  expect(await perTokenOf('messages', text)).toBe(1000n)
})
