import { expect, test } from 'bun:test'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { asObject, parseObject } from '@/json/json.ts'

/**
 * Upstreams that are asked for more output than their callers state, and give all of it. Of each model: 1000 per million
 * tokens of output, nothing for the prompt.
 */
const PRICES = 'prices: { input: 0, output: 1000 }'
const OUTPUT = 1_000_000n
const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "budget", channels: [{ channel: messages, model: "claude-sonnet-4-20250514" }], ${PRICES} }
  - { id: "foreign", channels: [{ channel: messages, model: "other" }], ${PRICES} }
  - { id: "short", max_output_tokens: 3000, channels: [{ channel: messages, model: "other" }], ${PRICES} }
  - { id: "least", channels: [{ channel: responses, model: "o" }], ${PRICES} }`,
})

/** What the upstream was asked for last; 0: it was not. */
let asked = 0
upstream.answer = ({ path, body }) => {
  const sent = parseObject(new TextDecoder().decode(body)) ?? {}
  asked = Number(sent['max_tokens'] ?? sent['max_output_tokens'])
  if (path.endsWith('/responses')) {
    const content = [{ type: 'output_text', text: 'x', annotations: [] }]
    const output = [{ type: 'message', role: 'assistant', content }]
    return Response.json({
      object: 'response',
      status: 'completed',
      output,
      usage: { input_tokens: 9, output_tokens: asked },
    })
  }
  const content = [{ type: 'text', text: 'x' }]
  const usage = { input_tokens: 9, output_tokens: asked }
  return Response.json({ type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage })
}

interface Wish {
  model: string
  max_tokens?: number
  reasoning_effort?: string
}

/** Asks with credit for so much output, and tells what came of it. */
async function ask(wish: Wish, tokens: number, onTrial = false) {
  const { key, accountId } = await openPayer(gateway.database, {
    creditNano: BigInt(tokens) * OUTPUT,
    onTrial,
  })
  asked = 0
  const response = await gateway.post(
    '/v1/chat/completions',
    { ...wish, messages: [{ role: 'user', content: 'hi' }] },
    { key },
  )
  const error = asObject(parseObject(await response.text())?.['error'])
  await until(async () => (await gateway.ledger.balance(accountId))?.pendingNano === 0n)
  const left = (await gateway.ledger.balance(accountId))?.balanceNano ?? -1n
  const affordable = /for (\d+) output tokens/.exec(String(error?.['message']))?.[1]
  return { status: response.status, asked, left: Number(left / OUTPUT), affordable: Number(affordable) }
}

test.each([
  [{ model: 'budget', max_tokens: 100, reasoning_effort: 'high' }, 16_484],
  [{ model: 'foreign', max_tokens: 1, reasoning_effort: 'xhigh' }, 32_769],
  [{ model: 'short', max_tokens: 100, reasoning_effort: 'high' }, 3000],
  [{ model: 'budget', max_tokens: 9000, reasoning_effort: 'medium' }, 9000],
  [{ model: 'budget', max_tokens: 100 }, 100],
  [{ model: 'least', max_tokens: 3 }, 16],
])('%j is set aside as the %p tokens that its upstream is asked for', async (wish, most) => {
  for (const onTrial of [false, true]) {
    expect(await ask(wish, most, onTrial)).toMatchObject({ status: 200, asked: most, left: 0 })
    expect(await ask(wish, most - 1, onTrial)).toMatchObject({ status: 402, asked: 0, left: most - 1 })
  }
})

test('a refusal names no limit that would be refused as well', async () => {
  const wish = { model: 'budget', reasoning_effort: 'medium' }
  // 8192 of thought come on top of any limit that is no larger.
  expect((await ask({ ...wish, max_tokens: 100 }, 8000)).affordable).toBe(0)
  const { affordable } = await ask({ ...wish, max_tokens: 20_000 }, 9000)
  expect(affordable).toBe(9000)
  expect(await ask({ ...wish, max_tokens: affordable }, 9000)).toMatchObject({ status: 200, left: 0 })
})

test('thought finds room within the limit that the balance sets', async () => {
  for (const effort of ['low', 'high', 'max']) {
    const given = await ask({ model: 'budget', reasoning_effort: effort }, 5000)
    expect(given).toMatchObject({ status: 200, asked: 5000, left: 0 })
  }
})

test('where nobody states a limit, all that the upstream is asked for is set aside', async () => {
  expect(await ask({ model: 'budget' }, 100_000)).toMatchObject({ status: 200, asked: 64_000 })
  expect(await ask({ model: 'budget' }, 40_000)).toMatchObject({ status: 200, asked: 40_000, left: 0 })
})
