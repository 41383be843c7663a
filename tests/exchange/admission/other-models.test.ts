import { expect, test } from 'bun:test'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { admitOtherModels } from '@/exchange/admission/other-models.ts'
import type { Catalog } from '@/routing/model.ts'

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "dear", enabled_by_default: false, channels: [{ channel: messages, model: "dear-2026" }], prices: { input: 1, output: 1 } }`,
})
upstream.answer = () => new Response('{"error":{"message":"asked"}}', { status: 400 })
const given = (await openPayer(gateway.database, { models: ['dear'] })).key

const advised = (model: string) => ({
  path: '/v1/messages',
  body: {
    model: 'messages/echo',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'advisor_20260301', name: 'advisor', model }],
  },
})
const fallingBack = (model: string) => ({
  path: '/v1/chat/completions',
  body: { model: 'chat/echo', messages: [{ role: 'user', content: 'hi' }], models: ['chat/echo', model] },
})

/** As Anthropic's SDKs send it, for what is done when a model refuses. */
const refusing = (model: string) => ({
  path: '/v1/messages?beta=true',
  body: {
    model: 'messages/echo',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    fallbacks: [{ model: 'messages/echo' }, { model }],
  },
})
const fallingBackAtLiteLLM = (model: string) => ({
  path: '/v1/chat/completions',
  body: { model: 'chat/echo', messages: [{ role: 'user', content: 'hi' }], fallbacks: [model] },
})

const drawing = (model: string) => ({
  path: '/v1/responses',
  body: {
    model: 'responses/echo',
    input: 'hi',
    tools: [{ type: 'image_generation', output_format: 'svg', svg: { model } }],
  },
})
const written = (model: string) => ({
  path: '/v1/images/generations',
  body: { model: 'responses/echo', prompt: 'x', output_format: 'svg', svg: { model } },
})
/** No upstream takes a form's name for it from a JSON body. */
const hidden = (model: string) => ({
  path: '/v1/images/generations',
  body: { model: 'responses/echo', prompt: 'x', 'svg[model]': 'responses/echo', svg: { model } },
})
const editing = (model: string) => {
  const body = new FormData()
  body.append('model', 'responses/echo')
  body.append('prompt', 'x')
  body.append('image', new File(['png'], 'a.png', { type: 'image/png' }))
  body.append('output_format', 'svg')
  body.append('svg[model]', model)
  return { path: '/v1/images/edits', body }
}

const OTHERS: [what: string, make: (model: string) => { path: string; body: object }][] = [
  ['an adviser', advised],
  ['a fallback', fallingBack],
  ['a fallback at LiteLLM', fallingBackAtLiteLLM],
  ['a fallback of a model that refuses', refusing],
  ['who is to write an SVG for a conversation', drawing],
  ['who is to write an SVG', written],
  ['who is to write an SVG, beside the name that a form has for it', hidden],
  ['who is to write an SVG, in a form', editing],
]

/** What a vendor is asked for, or the code of the refusal before it is. */
async function ask({ path, body }: { path: string; body: object }, key: string) {
  const before = upstream.seen.length
  const response = await gateway.post(path, body, { key })
  const { error } = JSON.parse(await response.text())
  return upstream.seen.length > before ? 'asked' : error.code
}

test.each(OTHERS)(
  '%s that the account may not use is refused like a model that does not exist',
  async (_what, make) => {
    expect(await ask(make('dear'), gateway.key)).toBe('model_not_found')
    expect(await ask(make('dear-2026'), gateway.key)).toBe('model_not_found')
    expect(await ask(make('nothing'), gateway.key)).toBe('model_not_found')
  },
)

test.each(OTHERS)('%s that the account was given is passed on, by either name', async (_what, make) => {
  expect(await ask(make('dear'), given)).toBe('asked')
  expect(await ask(make('dear-2026'), given)).toBe('asked')
})

test.each([
  ['an adviser', advised],
  ['a fallback of a model that refuses', refusing],
  ['who is to write an SVG for a conversation', drawing],
  ['who is to write an SVG', written],
])('%s is refused by a name that some servers read as the same', async (_what, make) => {
  const { path, body } = make('dear')
  // The model of the request itself stands first.
  const other = JSON.parse(
    JSON.stringify(body).replace(/("model":"[^"]+".*)"model":"dear"/, '$1"Model":"dear"'),
  )
  expect(JSON.stringify(other)).toContain('"Model"')
  const before = upstream.seen.length
  const response = await gateway.post(path, other)
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('this name is spelled model')
  expect(upstream.seen.length).toBe(before)
})

test('a model that is named a thousand times is looked for once', () => {
  const { catalog, authenticate } = gateway.server.gateway
  const answer = authenticate(given)
  if (answer instanceof Promise || !answer.ok) throw new Error('the key was used before')
  let looks = 0
  const find: Catalog['find'] = name => {
    looks += 1
    return catalog.find(name)
  }
  const otherModels = Array<string>(1_000).fill('dear-2026')
  admitOtherModels({ ...catalog, find }, answer.caller, { model: 'chat/echo', otherModels })
  expect(looks).toBe(1)
})
