import { describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { TOLD_WITHIN_MS } from '#tests/support/told-within.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { mintKey } from '@/accounts/api-key.ts'
import { CALLS, call, readError, SURFACES, type Surface } from './calls.ts'

const gateway = await fileGateway({
  models: `
  - { id: "granted", aliases: [granted-alias], enabled_by_default: false, channels: [{ channel: chat, model: "echo" }] }
  - { id: "secret", enabled_by_default: false, channels: [{ channel: chat, model: "echo" }] }`,
})

const UNKNOWN_KEY = mintKey().key

interface KeyOptions {
  models?: readonly string[]
  expiresAt?: Date
  allowIps?: readonly string[]
  accountId?: number
}

async function createKey(options: KeyOptions = {}): Promise<{ id: number; key: string }> {
  return gateway.keys.createKey({
    accountId: options.accountId ?? gateway.accountId,
    name: 'another',
    models: options.models,
    expiresAt: options.expiresAt,
    allowIps: options.allowIps,
    cap: undefined,
  })
}

async function createAccount(models: readonly string[], creditNano = 1_000_000_000_000n): Promise<number> {
  const { id } = await gateway.accounts.createAccount({
    email: `${crypto.randomUUID()}@example.com`,
    creditNano,
    onTrial: false,
    models,
  })
  return id
}

/** A call that brings what `headers` and `query` say and no key beside. */
function bring(surface: Surface, headers: Record<string, string>, query = ''): Promise<Response> {
  const model = `${surface}/echo`
  return fetch(gateway.url + CALLS[surface].path(model) + query, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(CALLS[surface].body(model)),
  })
}

describe.each(SURFACES)('%s', surface => {
  test('answers 401 missing_api_key to a call without a key', async () => {
    for (const [headers, query] of [
      [{}, ''],
      [{ 'x-goog-api-key': '' }, ''],
      [{}, '?key='],
      [{ cookie: `key=${gateway.key}` }, ''],
      [{ 'api-key': gateway.key }, ''],
    ] as const) {
      const error = await readError(await bring(surface, headers, query), surface)
      expect(error).toMatchObject({ status: 401, code: 'missing_api_key' })
    }
  })

  test.each<[string, () => string]>([
    ['without the word Bearer', () => gateway.key],
    ['with the word Basic', () => `Basic ${btoa(`x:${gateway.key}`)}`],
    ['with the word Token', () => `Token ${gateway.key}`],
    ['with nothing behind Bearer', () => 'Bearer'],
    ['with two words behind Bearer', () => `Bearer ${gateway.key} ${gateway.key}`],
    ['that is empty', () => ''],
    ['with the key of nobody', () => `Bearer ${UNKNOWN_KEY}`],
    ['with a key whose checksum is wrong', () => `Bearer ${gateway.key.slice(0, -1)}!`],
    ['with half a key', () => `Bearer ${gateway.key.slice(0, 30)}`],
    ['with a key of another vendor', () => 'Bearer sk-ant-api03-AAAAAAAAAAAAAAAAAAAA'],
    ['with a key of great length', () => `Bearer sk-${'x'.repeat(5000)}`],
    ['with SQL', () => "Bearer ' or 1=1 --"],
  ])('answers 401 invalid_api_key to an Authorization %s', async (_how, authorization) => {
    const response = await bring(surface, { authorization: authorization() })
    expect(await readError(response, surface)).toMatchObject({ status: 401, code: 'invalid_api_key' })
  })

  test('answers 401 to a revoked key and to an expired one, saying which', async () => {
    const { id, key } = await createKey()
    expect((await call(gateway, surface, { key })).status).toBe(200)
    await gateway.keys.revokeKey(id)
    await until(async () => (await call(gateway, surface, { key })).status === 401)
    const revoked = await readError(await call(gateway, surface, { key }), surface)
    expect(revoked).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(revoked.message).toContain('revoked')

    const old = await createKey({ expiresAt: new Date(Date.now() - 1000) })
    const expired = await readError(await call(gateway, surface, { key: old.key }), surface)
    expect(expired).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(expired.message).toContain('expired')
  })

  test('takes a key in each of its carriers, and x-api-key where Anthropic has it only', async () => {
    const { key } = gateway
    const takesAnthropicKey = surface === 'messages'
    for (const [status, headers, query] of [
      [200, { authorization: `Bearer ${key}` }, ''],
      [200, { authorization: `bearer  ${key}` }, ''],
      [200, { 'x-goog-api-key': key }, ''],
      [200, {}, `?key=${key}`],
      [200, {}, `?alt=json&key=${key}`],
      [takesAnthropicKey ? 200 : 401, { 'x-api-key': key }, ''],
    ] as const) {
      const response = await bring(surface, headers, query)
      expect(response.status).toBe(status)
      await response.arrayBuffer()
    }
  })

  test('lets the first carrier that is there decide', async () => {
    const { key } = gateway
    const wrong = UNKNOWN_KEY
    const good = { authorization: `Bearer ${key}` }
    for (const [status, headers, query] of [
      [401, { authorization: `Bearer ${wrong}`, 'x-goog-api-key': key }, `?key=${key}`],
      [401, { authorization: `Bearer ${wrong}`, 'x-api-key': key }, ''],
      [401, { authorization: key, 'x-goog-api-key': key }, ''],
      [401, { 'x-goog-api-key': wrong }, `?key=${key}`],
      [surface === 'messages' ? 401 : 200, { 'x-api-key': wrong, 'x-goog-api-key': key }, ''],
      [200, { ...good, 'x-api-key': wrong, 'x-goog-api-key': wrong }, `?key=${wrong}`],
      [200, { 'x-goog-api-key': key }, `?key=${wrong}`],
    ] as const) {
      const response = await bring(surface, headers, query)
      expect(response.status).toBe(status)
      await response.arrayBuffer()
    }
  })

  test('answers 402 credit_exhausted to an account without credit, which may still count tokens', async () => {
    const { key } = await createKey({ accountId: await createAccount([], 0n) })
    const error = await readError(await call(gateway, surface, { key }), surface)
    expect(error).toMatchObject({ status: 402, code: 'credit_exhausted' })
    const counted = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: JSON.stringify({ model: `${surface}/echo`, messages: [{ role: 'user', content: 'hi' }] }),
    })
    expect(counted.status).toBe(200)
  })

  test('answers 403 account_suspended, to what is free as well, until the account is resumed', async () => {
    const accountId = await createAccount([])
    const { key } = await createKey({ accountId })
    expect((await call(gateway, surface, { key })).status).toBe(200)
    await gateway.accounts.suspendAccount(accountId)
    await until(async () => (await call(gateway, surface, { key })).status !== 200)
    const error = await readError(await call(gateway, surface, { key }), surface)
    expect(error).toMatchObject({ status: 403, code: 'account_suspended' })
    // The database refuses a hold before the process has heard that its keys have changed.
    const models = () => fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    await until(async () => (await models()).status === 403, TOLD_WITHIN_MS)
    await gateway.accounts.resumeAccount(accountId)
    await until(async () => (await call(gateway, surface, { key })).status === 200, TOLD_WITHIN_MS)
  })

  test('answers 403 ip_not_allowed from an address that the key does not allow', async () => {
    const elsewhere = await createKey({ allowIps: ['10.0.0.0/8', '2001:db8::/32'] })
    const response = await call(gateway, surface, {
      key: elsewhere.key,
      headers: { 'x-forwarded-for': '10.1.2.3', 'x-real-ip': '10.1.2.3' },
    })
    expect(await readError(response, surface)).toMatchObject({ status: 403, code: 'ip_not_allowed' })
    const here = await createKey({ allowIps: ['10.0.0.0/8', '127.0.0.0/8'] })
    expect((await call(gateway, surface, { key: here.key })).status).toBe(200)
  })

  test('judges the account before it reads the body', async () => {
    const elsewhere = await createKey({ allowIps: ['10.0.0.0/8'] })
    expect((await call(gateway, surface, { key: elsewhere.key, body: 'no JSON' })).status).toBe(403)
    expect((await call(gateway, surface, { key: UNKNOWN_KEY, body: 'no JSON' })).status).toBe(401)
  })

  test('tells a model that is not enabled from one that does not exist by its name alone', async () => {
    const told = async (key: string, model: string) => {
      const response = await call(gateway, surface, { key, model })
      const id = response.headers.get('x-request-id') ?? ''
      const headers = [...response.headers].filter(([name]) => !/^(date|content-length)$/.test(name))
      const text = `${response.status} ${JSON.stringify(headers)} ${await response.text()}`
      return text.replaceAll(id, 'ID').replaceAll(model, 'MODEL')
    }
    const { key: narrow } = await createKey({ models: ['granted'] })
    for (const key of [gateway.key, narrow]) {
      const missing = await told(key, 'missing')
      expect(missing).toContain('model_not_found')
      expect(await told(key, 'secret')).toBe(missing)
      expect(await told(key, 'granted')).toBe(missing)
    }
    expect(await told(narrow, `${surface}/echo`)).toBe(await told(narrow, 'missing'))
  })
})

describe('the models of an account and of a key', () => {
  test('are those enabled by default and those given, narrowed by the key', async () => {
    const accountId = await createAccount(['granted'])
    const all = await createKey({ accountId })
    const narrow = await createKey({ accountId, models: ['chat/echo', 'secret'] })
    const aliased = await createKey({ accountId, models: ['granted-alias'] })
    const none = await createKey({ accountId, models: [] })
    const reach = async (key: string, model: string) =>
      (await call(gateway, 'chat', { key, model })).status === 200
    const reached = async (key: string) => {
      const names = ['chat/echo', 'granted', 'granted-alias', 'secret']
      const can = await Promise.all(names.map(model => reach(key, model)))
      return names.filter((_, index) => can[index])
    }
    expect(await reached(all.key)).toEqual(['chat/echo', 'granted', 'granted-alias'])
    expect(await reached(narrow.key)).toEqual(['chat/echo'])
    expect(await reached(aliased.key)).toEqual(['granted', 'granted-alias'])
    expect(await reached(none.key)).toEqual([])
  })
})

test('no log line holds a key, whichever way it came', async () => {
  const { key } = gateway
  await bring('gemini', {}, `?key=${key}`)
  await bring('gemini', {}, `?key=${UNKNOWN_KEY}`)
  await bring('chat', { authorization: key })
  await fetch(`${gateway.url}/nowhere?key=${key}`)
  expect(gateway.logLines.length).toBeGreaterThan(0)
  const secrets = [key, UNKNOWN_KEY, 'upstream-key-'].map(secret => secret.slice(0, 20))
  for (const line of gateway.logLines) for (const secret of secrets) expect(line).not.toContain(secret)
})
