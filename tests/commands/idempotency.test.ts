import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import type { Payer } from '#tests/support/gateway/payer.ts'
import { eventStream, fedStream, scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'

const DELTA = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(800)}"}}]}\n\n`
const END = [
  '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  '{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":600,"total_tokens":610}}',
  '[DONE]',
]

/** The first answer is still in its middle when its process is killed, the second is whole. */
const upstream = scriptedUpstream(() => {
  if (upstream.seen.length > 1) return eventStream(DELTA + END.map(data => `data: ${data}\n\n`).join(''))
  const fed = fedStream()
  fed.write(DELTA)
  return eventStream(fed.stream)
})
let fleet: Fleet
let payer: Payer

beforeAll(async () => {
  fleet = await startFleet({
    gateways: 2,
    upstreamUrl: upstream.url,
    prices: '{ input: 1, output: 2 }',
  })
  payer = await fleet.payer(1_000_000_000n)
}, 120_000)
afterAll(async () => {
  await fleet?.close()
  await upstream.stop()
}, 120_000)

function ask(index: number, key: string): Promise<Response> {
  return fetch(`${fleet.gateways[index]?.apiUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${payer.key}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  })
}

test('a process that is killed in the middle leaves the key to the next one, and one bill for each run', async () => {
  const first = await ask(0, 'k')
  const firstId = first.headers.get('x-request-id')
  // Somebody who came to the other process reads along, and is cut off as the first caller is.
  const along = await ask(1, 'k')
  expect(along.headers.get('x-request-id')).toBe(firstId)
  const alongEnds = along.text().then(
    () => 'clean',
    () => 'broken',
  )
  await first.body?.getReader().read()
  const killed = fleet.kill(0)
  await killed.dead
  // Nobody has taken it over yet: the lease of the dead one has to run out.
  const retried = await ask(1, 'k')
  const text = await retried.text()
  expect(text).toEndWith('data: [DONE]\n\n')
  expect(retried.headers.get('idempotent-replayed')).toBeNull()
  const retriedId = retried.headers.get('x-request-id')
  expect(retriedId).not.toBe(firstId)
  expect(await alongEnds).toBe('broken')
  const replayed = await ask(1, 'k')
  expect(replayed.headers.get('x-request-id')).toBe(retriedId)
  expect(await replayed.text()).toBe(text)
  expect(upstream.seen).toHaveLength(2)

  await fleet.buryDead()
  await until(async () => (await fleet.holds()) === 0)
  const entries = await fleet.database.sql<
    { id: string; kind: string; amount: bigint; ref: string | null }[]
  >`
    select id, kind, amount, ref from entry where account_id = ${payer.accountId} and kind like 'usage%'`
  // What was delivered before the kill is charged at its last checkpoint, if there was one.
  expect(entries.filter(({ id }) => id === firstId).length).toBeLessThanOrEqual(1)
  for (const entry of entries.filter(({ id }) => id === firstId)) expect(entry.ref).toBe('expired')
  const whole = 10n * 1000n + 600n * 2000n
  expect(entries.filter(({ id }) => id === retriedId)).toMatchObject([{ kind: 'usage', amount: -whole }])
  expect((await fleet.audit()).ok).toBe(true)
  await killed.replaced
}, 120_000)
