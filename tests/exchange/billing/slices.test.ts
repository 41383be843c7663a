import { describe, expect, test } from 'bun:test'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import type { JsonObject } from '@/json/json.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { TIMINGS } from '@/ledger/timings.ts'

/** Of the model: 1 and 1000 per million tokens, in nano. */
const OUTPUT = 1_000_000n

let fed: ReturnType<typeof fedStream>

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "dear", max_output_tokens: 100000, channels: [{ channel: chat, model: "echo" }], prices: { input: 1, output: 1000 } }
  - { id: "dear-messages", max_output_tokens: 100000, channels: [{ channel: messages, model: "echo" }], prices: { input: 1, output: 1000 } }
  - { id: "dear-gemini", max_output_tokens: 100000, channels: [{ channel: gemini, model: "echo" }], prices: { input: 1, output: 1000 } }`,
})
upstream.answer = () => eventStream(fed.stream)

/** 100 tokens as the gateway counts them. */
const DELTA = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(400)}"}}]}\n\n`
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":1900,"total_tokens":2000}}\n\ndata: [DONE]\n\n'

const payer = (creditNano: bigint) => openPayer(gateway.database, { creditNano })

const CHAT = ['/v1/chat/completions', '"stream":true,"messages":[{"role":"user","content":"hi"}]'] as const
const SURFACES = {
  chat: CHAT,
  responses: ['/v1/responses', '"stream":true,"input":"hi"'],
  messages: ['/v1/messages', '"stream":true,"max_tokens":3000,"messages":[{"role":"user","content":"hi"}]'],
} as const satisfies Record<string, readonly [string, string]>

function open(key: string, [path, body]: readonly [string, string] = CHAT): Promise<Response> {
  fed = fedStream()
  fed.write(DELTA)
  return gateway.post(path, `{"model":"dear",${body}}`, { key })
}

function write(deltas: number): void {
  for (let index = 0; index < deltas; index += 1) fed.write(DELTA)
}

const balanceOf = (accountId: number) => gateway.ledger.balance(accountId)

async function heldFor(accountId: number): Promise<bigint> {
  return (await balanceOf(accountId))?.pendingNano ?? 0n
}

describe('a stream that costs more than was set aside at its start', () => {
  test('has more set aside in time, in steps that double', async () => {
    const { key, accountId } = await payer(10n ** 12n)
    const answer = (await open(key)).text()
    const first = await heldFor(accountId)
    expect(first / OUTPUT).toBe(2048n)
    write(11)
    await until(async () => (await heldFor(accountId)) > first)
    expect((await heldFor(accountId)) / OUTPUT).toBe(4096n)
    write(10)
    await until(async () => (await heldFor(accountId)) / OUTPUT === 8192n)
    fed.write(END)
    fed.close()
    expect(await answer).toContain('[DONE]')
    await until(async () => (await heldFor(accountId)) === 0n)
  })

  test.each([
    ['chat', '"code":"credit_exhausted"', '[DONE]\n\n[DONE]'],
    ['responses', 'insufficient_quota', 'response.completed'],
  ] as const)(
    'ends on %s in an error of its own grammar when the credit does',
    async (surface, error, success) => {
      // Pays for not quite a thousand tokens; the upstream does not keep to the limit that it was given.
      const { key, accountId } = await payer(10n ** 9n)
      const response = await open(key, SURFACES[surface])
      expect(response.status).toBe(200)
      const answer = response.text()
      write(11)
      const text = (await answer).replaceAll('x'.repeat(400), 'x')
      expect(text).toContain('The credit of this account is used up, the answer ends here')
      expect(text).toContain(error)
      expect(text).not.toContain(success)
      // What was delivered is charged, though it is more than there was.
      await until(async () => (await heldFor(accountId)) === 0n)
      const balance = (await balanceOf(accountId))?.balanceNano ?? 0n
      expect(balance).toBeLessThan(0n)
      expect(balance).toBeGreaterThan(-210n * OUTPUT)
    },
  )

  test('ends so on messages, where the limit was paid for at the start and something else took the credit', async () => {
    const { key, accountId } = await payer(3_100_000_000n)
    const response = await open(key, SURFACES.messages)
    expect(response.status).toBe(200)
    const debit = { id: Bun.randomUUIDv7(), accountId, kind: 'debit', amountNano: -(10n ** 9n) } as const
    await gateway.ledger.post({ ...debit, reason: 'test' })
    const answer = response.text()
    write(22)
    const text = (await answer).replaceAll('x'.repeat(400), 'x')
    expect(text).toContain('The credit of this account is used up, the answer ends here')
    expect(text).toContain('billing_error')
    expect(text).not.toContain('message_stop')
  })

  test('gets all that the credit pays for, up to the limit that it was given', async () => {
    // Pays for not quite 3000 tokens: the first slice and a part of what would follow it.
    const { key, accountId } = await payer(3n * 10n ** 9n)
    const answer = (await open(key)).text()
    write(11)
    await until(async () => (await heldFor(accountId)) / OUTPUT > 2900n)
    const limit = JSON.parse(upstream.lastBody()).max_tokens
    expect(limit).toBeGreaterThan(2900)
    expect(limit).toBeLessThan(3000)
    write(16)
    fed.write(END)
    fed.close()
    expect(await answer).toContain('[DONE]')
  })

  test('has more set aside while a call is held back until it is whole, and is charged where its caller leaves meanwhile', async () => {
    const { key, accountId } = await payer(10n ** 12n)
    fed = fedStream()
    const event = (data: JsonObject) => fed.write(`event: ${data['type']}\ndata: ${JSON.stringify(data)}\n\n`)
    event({ type: 'message_start', message: { id: 'm', model: 'm', content: [], usage: {} } })
    const call = { type: 'tool_use', id: 't', name: 'f', input: {} }
    event({ type: 'content_block_start', index: 0, content_block: call })
    const abort = new AbortController()
    const parameters = '{"type":"object","properties":{"filter[id]":{}}}'
    const tools = `[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`
    const body = `{"model":"dear-messages","tools":${tools},${CHAT[1]}}`
    const answer = await gateway.post(CHAT[0], body, { key, signal: abort.signal })
    const first = await heldFor(accountId)
    expect(JSON.parse(upstream.lastBody()).tools[0].input_schema.properties).toHaveProperty('filter_id_')
    const partial_json = `{"filter_id_":"${'x'.repeat(6000)}`
    event({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } })
    await until(async () => (await heldFor(accountId)) > first)
    const { balanceNano = 0n } = (await balanceOf(accountId)) ?? {}
    abort.abort()
    await answer.text().catch(() => undefined)
    await until(async () => (await heldFor(accountId)) === 0n)
    const charged = balanceNano - ((await balanceOf(accountId))?.balanceNano ?? 0n)
    expect(charged / OUTPUT).toBe(1504n)
  })

  test('has more set aside for what its upstream reports and does not show', async () => {
    const { key, accountId } = await payer(10n ** 12n)
    fed = fedStream()
    const chunk = (thoughtsTokenCount: number, finish = '') =>
      fed.write(
        `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"x"}]}${finish}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"thoughtsTokenCount":${thoughtsTokenCount},"totalTokenCount":${2 + thoughtsTokenCount}}}\n\n`,
      )
    chunk(10)
    const answer = gateway
      .post(CHAT[0], `{"model":"dear-gemini",${CHAT[1]}}`, { key })
      .then(one => one.text())
    await until(async () => (await heldFor(accountId)) > 0n)
    const first = await heldFor(accountId)
    chunk(1500)
    await until(async () => (await heldFor(accountId)) > first)
    chunk(1500, ',"finishReason":"STOP"')
    fed.close()
    expect(await answer).toContain('[DONE]')
  })

  test('keeps its hold though the clock of the database is set forward by a day', async () => {
    const { key, accountId } = await payer(10n ** 12n)
    const answer = (await open(key)).text()
    // As if it were opened a day and an hour ago by what that clock says now.
    const { sql } = gateway.database
    await sql`update hold set deadline = deadline - interval '25 hours' where account_id = ${accountId}`
    await ledgerStore(gateway.database).reap(TIMINGS.deadAfterMs, 100)
    expect(await heldFor(accountId)).toBeGreaterThan(0n)
    fed.write(END)
    fed.close()
    expect(await answer).toContain('[DONE]')
  })

  test('goes on when credit comes in time', async () => {
    const { key, accountId } = await payer(10n ** 9n)
    const answer = (await open(key)).text()
    const first = await heldFor(accountId)
    write(6)
    // More was asked for and refused by now, or will be; either way it is asked for again.
    await Bun.sleep(300)
    await gateway.ledger.post({ id: Bun.randomUUIDv7(), accountId, kind: 'topup', amountNano: 10n ** 12n })
    await until(async () => (await heldFor(accountId)) > first)
    write(12)
    fed.write(END)
    fed.close()
    const text = await answer
    expect(text).toContain('[DONE]')
    expect(text).not.toContain('credit_exhausted')
  })
})

describe('a key with a spending cap', () => {
  const capped = (amountNano: bigint) => openPayer(gateway.database, { cap: { period: 'total', amountNano } })

  test('has a request that states no limit limited to what the cap pays for, and ended there', async () => {
    const { key } = await capped(3n * 10n ** 9n)
    const answer = (await open(key)).text()
    const limit = JSON.parse(upstream.lastBody()).max_tokens
    expect(limit).toBeGreaterThan(2900)
    expect(limit).toBeLessThan(3000)
    // The upstream does not keep to it.
    write(40)
    const text = await answer
    expect(text).toContain('The spending cap of this API key is reached, the answer ends here')
    expect(text).toContain('key_budget_exhausted')
  })

  test.each([
    ['stream', CHAT],
    ['whole answer', [CHAT[0], '"messages":[{"role":"user","content":"hi"}]']],
  ] as const)('limits a %s also where it pays for less than is set aside at first', async (_what, call) => {
    const { key } = await capped(10n ** 9n)
    const answer = open(key, call)
    fed.write(END)
    fed.close()
    const response = await answer
    expect(response.status).toBe(200)
    await response.text()
    const limit = JSON.parse(upstream.lastBody()).max_tokens
    expect(limit).toBeGreaterThan(900)
    expect(limit).toBeLessThan(1000)
    // What is left pays for less than 256 tokens.
    const poor = await capped(2n * 10n ** 8n)
    const refused = await open(poor.key, call)
    expect(refused.status).toBe(402)
    expect(await refused.json()).toMatchObject({ error: { code: 'key_budget_exhausted' } })
  })

  test('that only its own running request is in the way of is a 402 with Retry-After, soon', async () => {
    const { key } = await capped(5n * 10n ** 9n)
    const first = await open(key, [CHAT[0], `"max_tokens":3000,${CHAT[1]}`])
    const running = fed
    const second = await open(key, [CHAT[0], `"max_tokens":3000,${CHAT[1]}`])
    expect(second.status).toBe(402)
    expect(await second.json()).toMatchObject({ error: { code: 'credit_reserved' } })
    expect(Number(second.headers.get('retry-after'))).toBeLessThan(10)
    running.write(END)
    running.close()
    await first.text()
  })

  test('refuses a stated limit that the cap does not pay for, names the one that it does, and sets nothing aside', async () => {
    const { key, accountId } = await capped(3n * 10n ** 9n)
    const response = await open(key, [CHAT[0], `"max_tokens":3100,${CHAT[1]}`])
    expect(response.status).toBe(402)
    const text = await response.text()
    expect(text).toContain('"code":"key_budget_exhausted"')
    const affordable = Number(/cap of this API key pays for (\d+) output tokens at most/.exec(text)?.[1])
    expect(affordable).toBeGreaterThan(2900)
    expect(affordable).toBeLessThan(3100)
    await until(async () => (await heldFor(accountId)) === 0n)
    const paid = open(key, [CHAT[0], `"max_tokens":${affordable},${CHAT[1]}`])
    fed.write(END)
    fed.close()
    expect((await paid).status).toBe(200)
  })
})

test('a stated limit that would be paid for if other requests were over is a 402 with Retry-After', async () => {
  const { key, accountId } = await payer(5_200_000_000n)
  const first = await open(key)
  const running = fed
  const second = await open(key, [CHAT[0], `"max_tokens":4000,${CHAT[1]}`])
  expect(second.status).toBe(402)
  expect(await second.json()).toMatchObject({ error: { code: 'credit_reserved' } })
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
  await until(async () => (await heldFor(accountId)) / OUTPUT === 2048n)
  running.write(END)
  running.close()
  await first.text()
})
