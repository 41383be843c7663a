import { expect, test } from 'bun:test'
import { callerBy } from '#tests/support/caller.ts'
import { channelOf, modelOf, routeOf } from '#tests/support/channels.ts'
import { SINGLE } from '@/exchange/admission/decisive-names.ts'
import { otherModelsOf } from '@/exchange/admission/other-models.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import { quote } from '@/exchange/billing/quote.ts'
import { embeddingOperation } from '@/exchange/operations/embeddings.ts'
import { imageOperation } from '@/exchange/operations/images.ts'
import type { Operation } from '@/exchange/operations/operation.ts'
import { speechOperation } from '@/exchange/operations/speech.ts'
import { videoTerms } from '@/formats/openai/videos.ts'
import { readPrices } from '@/generation/rate-text.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { JsonObject } from '@/json/json.ts'

/** Written anew wherever it stands, and a name that no JSON body of an upstream's has. */
const NOT_HELD = ['model', 'svg[model]']

/** The members of a body that are read of it, and of which it may yet have more than one. */
function unheldNames(json: JsonObject, read: (json: JsonObject) => unknown): string[] {
  const names = new Set<string>()
  read(
    new Proxy(json, {
      get: (target, name) => {
        if (typeof name === 'string') names.add(name)
        return Reflect.get(target, name)
      },
    }),
  )
  return [...names].filter(name => !SINGLE.names.has(name) && !NOT_HELD.includes(name))
}

const bytes = new Uint8Array()

/** What an operation has not read when it is made is what its price needs. */
function reckon({ price: { ceiling } }: Operation): void {
  if (typeof ceiling === 'function') ceiling(readPrices({ input: '1', output: '1' }))
}

test.each<[string, JsonObject, (json: JsonObject) => unknown]>([
  [
    'images that are made',
    { prompt: 'x', output_format: 'gif' },
    json => reckon(imageOperation({ action: 'generation', body: { bytes, json }, model: 'm' })),
  ],
  [
    'images that are changed',
    { prompt: 'x' },
    json => reckon(imageOperation({ action: 'edit', body: { bytes, json }, model: 'm' })),
  ],
  ['speech', { input: 'x' }, json => reckon(speechOperation({ bytes, json }, 'm'))],
  [
    'embeddings',
    { input: 'x' },
    json => reckon(embeddingOperation({ body: { bytes, json }, model: 'm', action: undefined })),
  ],
  ['a film', { prompt: 'x' }, json => videoTerms(json)],
])('what is read to reckon the price of %s is held to be said once', (_what, json, read) => {
  expect(unheldNames(json, read)).toEqual([])
})

const PRICE = { version: 1n, rates: readPrices({ input: '1', output: '1', 'flex.output': '1' }) }

test.each<[ConversationSurface, ReturnType<typeof channelOf>['format']]>([
  ['chat', 'openai-chat-completions'],
  ['responses', 'openai-responses'],
  ['messages', 'anthropic-messages'],
  ['gemini', 'gemini-generate-content'],
])('what is read to reckon the price of an answer of %s is held to be said once', (surface, format) => {
  const model = modelOf('m', { price: PRICE, routes: [routeOf(channelOf(1, { format }))] })
  const read = (json: JsonObject) => {
    const body = { bytes, json }
    const headers = new Headers()
    const prompt = new Prompt({ surface, body, model: 'm', stream: true, framing: 'sse', headers })
    quote(prompt, model, callerBy(1, 1))
    otherModelsOf(prompt)
  }
  expect(unheldNames({}, read)).toEqual([])
})
