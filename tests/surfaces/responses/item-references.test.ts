import { describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { UPSTREAMS } from '#tests/support/gateway/gateway.ts'
import { asArray, asObject, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'

/**
 * The AI SDK takes every answer of Responses for stored, unless it is told `store: false`, and says in the next turn no
 * more than the ids of what it was answered.
 */
const AI_SDKS = [
  'ai/6.0.326 ai-sdk/provider-utils/4.0.66 runtime/node.js/v20.20.2',
  'ai/7.0.173 ai-sdk-provider-utils/5.0.81 bun/1.4.5',
] as const
const [AI_SDK] = AI_SDKS

const gateway = await fileGateway()

interface Asked {
  key?: string
  userAgent?: string
}

async function ask(fields: JsonObject, { key = gateway.key, userAgent = 'curl/8' }: Asked = {}) {
  const response = await gateway.post('/v1/responses', fields, { key, headers: { 'user-agent': userAgent } })
  return { status: response.status, json: asObject((await response.json()) as JsonValue) ?? {} }
}

const user = (text: string): JsonObject => ({ role: 'user', content: [{ type: 'input_text', text }] })

/** The ids of an answer's items, in the words of the AI SDK. */
function references(answer: JsonObject): JsonObject[] {
  return asArray(answer['output']).map(item => ({
    type: 'item_reference',
    id: asObject(item)?.['id'] ?? null,
  }))
}

/** What the upstream was sent last. */
function lastBody(): JsonObject {
  return parseObject(gateway.lastSent()) ?? {}
}

async function newKey(email: string, storeAllowed = true): Promise<string> {
  const account = await gateway.accounts.createAccount({
    email,
    creditNano: 1_000_000_000_000n,
    onTrial: false,
    models: [],
    storeAllowed,
  })
  return (await gateway.keys.createKey({ accountId: account.id, name: '', storeAllowed: true })).key
}

test.each(UPSTREAMS)(
  'over %s the Agent Framework goes on by the id of its answer, which it takes for stored',
  async upstream => {
    const caller = { userAgent: 'agent-framework-python/1.23.0' }
    const model = `${upstream}/echo`
    const first = await ask({ model, input: [user('one')] }, caller)
    expect(first).toMatchObject({ status: 200, json: { store: true } })

    const { id: previous_response_id = null } = first.json
    const second = await ask({ model, input: [user('two')], previous_response_id }, caller)
    expect(second.status).toBe(200)
    expect(JSON.stringify(lastBody())).toContain('one')

    const other = await ask({ model, input: [user('one')], store: false }, caller)
    expect(other.json['store']).toBe(false)
  },
)

describe.each(AI_SDKS)('%s goes on by references', userAgent => {
  test.each(UPSTREAMS)('over %s', async upstream => {
    const model = `${upstream}/reason`
    const first = await ask({ model, input: [user('one')], reasoning: { effort: 'low' } }, { userAgent })
    expect(first).toMatchObject({ status: 200, json: { store: true } })
    expect(JSON.stringify(first.json['output'])).toContain('one')

    const input = [user('two'), ...references(first.json), user('three')]
    const second = await ask({ model, input, reasoning: { effort: 'low' } }, { userAgent })
    expect(second.status).toBe(200)
    const sent = JSON.stringify(lastBody())
    expect(sent).toContain('two')
    expect(sent).toContain('one')
    expect(sent).not.toContain('item_reference')
  })
})

test('whoever says store: true goes on by references, too', async () => {
  const first = await ask({ model: 'chat/echo', input: 'a word', store: true })
  const second = await ask({
    model: 'messages/echo',
    input: [user('before'), ...references(first.json), user('after')],
  })
  expect(second).toMatchObject({ status: 200, json: { store: false } })
  expect(JSON.stringify(lastBody())).toContain('a word')
})

test('a conversation that is gone on with by its id may hold references', async () => {
  const first = await ask({ model: 'chat/echo', input: 'a word', store: true })
  const input = [user('before'), ...references(first.json), user('after')]
  const second = await ask({ model: 'chat/echo', input, store: true })
  const third = await ask({
    model: 'messages/echo',
    input: 'at last',
    previous_response_id: second.json['id'] ?? null,
  })
  expect(third.status).toBe(200)
  expect(JSON.stringify(lastBody())).toContain('a word')
})

test('prompts that refer are counted with what they refer to', async () => {
  const first = await ask({ model: 'chat/echo', input: 'word '.repeat(50), store: true })
  const count = async (input: JsonValue) => {
    const response = await gateway.post('/v1/responses/input_tokens', { model: 'chat/echo', input })
    return Number(asObject((await response.json()) as JsonValue)?.['input_tokens'])
  }
  expect(await count([...references(first.json), user('y')])).toBeGreaterThan((await count([user('y')])) + 20)
})

describe('references are refused', () => {
  test('to an item that is named so often that it would be more than a body may', async () => {
    const { json } = await ask({ model: 'chat/echo', input: 'word '.repeat(200_000), store: true })
    const [reference = null] = references(json)
    const told = await ask({ model: 'chat/echo', input: Array(100).fill(reference) })
    expect(told).toMatchObject({ status: 413, json: { error: { code: 'body_too_large', param: 'input' } } })
  })

  test('to more items than one conversation has', async () => {
    const input = Array.from({ length: 10_001 }, (_, at) => ({ type: 'item_reference', id: `msg_${at}` }))
    expect(await ask({ model: 'chat/echo', input })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_request', param: 'input' } },
    })
  })
})

describe('a reference to what is not there is refused', () => {
  const refusal = { status: 400, json: { error: { code: 'unsupported_parameter', param: 'input[0]' } } }
  const refer = (answer: JsonObject, asked: Asked = {}) =>
    ask({ model: 'chat/echo', input: [...references(answer), user('x')] }, asked)

  test('to an answer that nobody asked to be stored', async () => {
    const { json } = await ask({ model: 'chat/echo', input: 'a word' })
    expect(await refer(json)).toMatchObject(refusal)
  })

  test('to an answer of the AI SDK that says store: false', async () => {
    const { json } = await ask({ model: 'chat/echo', input: 'a word', store: false }, { userAgent: AI_SDK })
    expect(json).toMatchObject({ store: false })
    expect(await refer(json, { userAgent: AI_SDK })).toMatchObject(refusal)
  })

  test('to an answer of another account', async () => {
    const { json } = await ask({ model: 'chat/echo', input: 'a word', store: true })
    expect(await refer(json, { key: await newKey('item-stranger@example.com') })).toMatchObject(refusal)
  })

  test('by an account of which nothing is kept; its AI SDK is answered without', async () => {
    const asked = { key: await newKey('item-no-store@example.com', false), userAgent: AI_SDK }
    const { status, json } = await ask({ model: 'chat/echo', input: 'a word' }, asked)
    expect({ status, json }).toMatchObject({ status: 200, json: { store: false } })
    expect(await refer(json, asked)).toMatchObject(refusal)
  })

  test.each([
    ['a NUL', 'msg_\u0000'],
    ['more than an id', `msg_${'x'.repeat(900)}`],
  ])('by %s', async (_, id) => {
    const input = [{ type: 'item_reference', id }, user('x')]
    expect(await ask({ model: 'chat/echo', input })).toMatchObject(refusal)
  })
})
