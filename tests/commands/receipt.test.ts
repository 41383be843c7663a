import { expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { SECRET } from '#tests/support/secret.ts'
import { eventStream } from '#tests/support/upstreams/upstream.ts'
import type { CommandIo } from '@/commands/command.ts'
import { runCommandLine } from '@/commands/command-line.ts'
import { receiptCommand } from '@/commands/receipt.ts'
import { ledgerStore } from '@/ledger/store.ts'

const USAGE =
  '"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":20}}'

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "odd", channels: [{ channel: chat, model: "m" }], prices: { input: "0.0003", cached_input: "0.0001", output: "1.5", reasoning: "2", per_request: "0.00001" } }`,
})
upstream.answer = () =>
  eventStream(
    `data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],${USAGE}}\n\ndata: [DONE]\n\n`,
  )

async function run(...args: string[]): Promise<{ exitCode: number; out: string; error: string }> {
  const said = { out: '', error: '' }
  const io: CommandIo = {
    env: {
      DATABASE_URL: gateway.database.url,
      TOLLGATE_SECRET: SECRET,
    },
    out: text => {
      said.out += text
    },
    error: text => {
      said.error += text
    },
    terminal: false,
    now: Date.now,
  }
  const exitCode = await runCommandLine(['receipt', ...args], [receiptCommand], io)
  return { exitCode, ...said }
}

async function ask(model: string): Promise<string> {
  const response = await gateway.post('/v1/chat/completions', {
    model,
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  })
  await response.text()
  await gateway.server.flush()
  return response.headers.get('x-request-id') ?? ''
}

test('tells each kind of token with its rate and amount, the exact cost, and what was charged', async () => {
  const id = await ask('odd')
  const receipt = JSON.parse((await run(id, '--json')).out)
  expect(receipt).toMatchObject({
    request_id: id,
    account_id: gateway.accountId,
    key_id: gateway.keyId,
    model: 'odd',
    channel: 'chat',
    end_state: 'complete',
    usage_source: 'reported',
    lines: [
      { bucket: 'input', quantity: '60', rate: '0.0003', amount: '0.000000018000' },
      { bucket: 'cached_input', quantity: '40', rate: '0.0001', amount: '0.000000004000' },
      { bucket: 'output', quantity: '30', rate: '1.5', amount: '0.000045000000' },
      { bucket: 'reasoning', quantity: '20', rate: '2', amount: '0.000040000000' },
      { bucket: 'per_request', quantity: '1', rate: '0.00001', amount: '0.000010000000' },
    ],
    exact_cost: '0.000095022000',
    cost: '0.000095022',
    charges: [{ kind: 'usage', amount: '0.000095022' }],
    charged: '0.000095022',
    set_aside: '0.000000000',
  })
  expect(receipt.price_version).toMatch(/^\d+$/)
  const text = (await run(id)).out
  expect(text).toMatch(/reasoning +20 +2 +0.000040000000/)
})

test('keeps to the prices of its time when they change', async () => {
  const id = await ask('odd')
  const before = (await run(id, '--json')).out
  await gateway.database.sql`insert into price_version (model_id, rates, source)
    select model_id, '{"input": "9000000"}', source from price_version where model_id = 'odd'`
  expect((await run(id, '--json')).out).toBe(before)
})

test('adds corrections and refunds', async () => {
  const id = await ask('odd')
  await gateway.ledger.post({
    id: Bun.randomUUIDv7(),
    accountId: gateway.accountId,
    kind: 'usage_refund',
    amountNano: 5_022n,
    ref: id,
  })
  const { charges, charged } = JSON.parse((await run(id, '--json')).out)
  expect(charges).toMatchObject([{ kind: 'usage' }, { kind: 'usage_refund', amount: '-0.000005022' }])
  expect(charged).toBe('0.000090000')
})

test('of a request that runs is what is set aside; of one whose process died, what was charged', async () => {
  const { ledger } = gateway.server.gateway
  const id = Bun.randomUUIDv7()
  const exchange = { id, accountId: gateway.accountId, keyId: gateway.keyId }
  await ledger.hold({ ...exchange, amountNano: 1_000n, priceVersion: 1, lifetimeMs: 600_000 })
  ledger.progress(id, 400n)
  await ledger.beat()
  expect(JSON.parse((await run(id, '--json')).out)).toMatchObject({
    end_state: 'running',
    set_aside: '0.000001000',
    charges: [],
    lines: null,
  })
  await gateway.database.sql`update hold set deadline = '-infinity' where id = ${id}`
  await ledgerStore(gateway.database).reap(10_000, 100)
  expect(JSON.parse((await run(id, '--json')).out)).toMatchObject({
    end_state: 'expired',
    charged: '0.000000400',
  })
})

test('refuses an id that no request has, and what is no id', async () => {
  const unknown = Bun.randomUUIDv7()
  expect(await run(unknown)).toMatchObject({
    exitCode: 1,
    error: expect.stringContaining(`There is no request ${unknown}`),
  })
  expect((await run('nonsense')).exitCode).toBe(2)
  expect((await run()).exitCode).toBe(2)
})
