import { beforeEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { rejectionOf } from '#tests/sdk/rejection.ts'
import { UPSTREAMS } from '#tests/support/gateway/gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'

const { gateway, upstream } = await scriptedGateway()
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
beforeEach(() => {
  upstream.answer = simulated
})

async function ended(id: string) {
  await until(async () => {
    const { status } = await openai.responses.retrieve(id)
    return status !== 'queued' && status !== 'in_progress'
  })
  return openai.responses.retrieve(id)
}

/** Everything that was taken from or is set aside in the account. */
async function money() {
  await gateway.server.flush()
  const holds = await gateway.database.sql`select id from hold`
  const entries = await gateway.database.sql`select id from entry where kind = 'usage'`
  return { holds: holds.length, charges: entries.length }
}

async function charged(before: { charges: number }): Promise<number> {
  await until(async () => (await money()).holds === 0)
  return (await money()).charges - before.charges
}

async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

// biome-ignore lint/suspicious/noExplicitAny: events as they came, which the expectations take apart
function eventsOf(text: string): any[] {
  return text.split('\n').flatMap(line => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
}

/** The start of a chat answer that the test goes on with. */
function begun() {
  const fed = fedStream()
  fed.write(
    'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"first words"}}]}\n\n',
  )
  upstream.answer = () => eventStream(fed.stream)
  const finish = () => {
    fed.write('data: {"choices":[{"index":0,"delta":{"content":" and last"}}]}\n\n')
    fed.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    fed.close()
  }
  return { fed, finish }
}

describe.each(UPSTREAMS)('over %s', format => {
  test('a background response is queued at once, and there when it is done', async () => {
    const before = await money()
    const queued = await openai.responses.create({
      model: `${format}/echo`,
      input: 'do this later',
      background: true,
      store: true,
    })
    expect(queued).toMatchObject({ status: 'queued', background: true, store: true, output: [], usage: null })
    const done = await ended(queued.id)
    expect(done).toMatchObject({ id: queued.id, status: 'completed', background: true, store: true })
    expect(done.output_text).toBe('do this later')
    expect(done.usage?.total_tokens).toBeGreaterThan(0)
    expect(await charged(before)).toBe(1)
    const next = await openai.responses.create({
      model: `${format}/echo`,
      input: 'and then?',
      previous_response_id: queued.id,
    })
    expect(next.previous_response_id).toBe(queued.id)
  })

  test('its stream is the same, however often it is looked at and from wherever', async () => {
    const live = await collect(
      await openai.responses.create({
        model: `${format}/long-20`,
        input: 'go',
        background: true,
        stream: true,
      }),
    )
    expect(live.at(0)?.type).toBe('response.created')
    const last = live.at(-1)
    if (last?.type !== 'response.completed') throw new Error(`ended in ${last?.type}`)
    const numbers = live.map(event => ('sequence_number' in event ? event.sequence_number : -1))
    expect(numbers).toEqual(numbers.map((_, index) => index))
    const { id } = last.response
    expect(last.response).toMatchObject({ background: true, store: true })
    expect(await collect(await openai.responses.retrieve(id, { stream: true }))).toEqual(live)
    const rest = await openai.responses.retrieve(id, { stream: true, starting_after: 4 })
    expect(await collect(rest)).toEqual(live.slice(5))
  })
})

test('a HEAD of the stream of a response that still runs ends with its head', async () => {
  const { finish } = begun()
  const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
  const head = await fetch(`${gateway.url}/v1/responses/${id}?stream=true`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  expect(head.status).toBe(200)
  expect(head.headers.get('content-type')).toStartWith('text/event-stream')
  expect((await openai.responses.retrieve(id)).status).not.toBe('completed')
  finish()
  expect((await ended(id)).output_text).toBe('first words and last')
})

test('a stream that was dropped goes on where it was, while the response still runs', async () => {
  const { finish } = begun()
  const stream = await openai.responses.create({
    model: 'chat/echo',
    input: 'go',
    background: true,
    stream: true,
  })
  const seen: ResponseStreamEvent[] = []
  for await (const event of stream) {
    seen.push(event)
    if (event.type === 'response.output_text.delta') break
  }
  const created = seen[0]
  if (created?.type !== 'response.created') throw new Error('no start')
  const { id } = created.response
  expect((await openai.responses.retrieve(id)).status).toBe('in_progress')
  const lastNumber = seen.length - 1
  const rest = collect(await openai.responses.retrieve(id, { stream: true, starting_after: lastNumber }))
  finish()
  const after = await rest
  expect(after[0]).toMatchObject({ sequence_number: lastNumber + 1 })
  expect(after.at(-1)).toMatchObject({ type: 'response.completed' })
  expect((await ended(id)).output_text).toBe('first words and last')
})

test('a stream goes on where it was once a database that was away is back', async () => {
  const { finish } = begun()
  const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
  const { store } = gateway.server.gateway.responses
  const { eventsAfter } = store
  let failures = 0
  store.eventsAfter = async (key, number) => {
    if (number < 0 || failures === 3) return eventsAfter(key, number)
    failures += 1
    throw new Error('the database is away')
  }
  try {
    const seen = collect(await openai.responses.retrieve(id, { stream: true }))
    await until(() => failures === 3)
    finish()
    const events = await seen
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' })
    const numbers = events.map(event => ('sequence_number' in event ? event.sequence_number : -1))
    expect(numbers).toEqual(numbers.map((_, index) => index))
  } finally {
    store.eventsAfter = eventsAfter
  }
})

test('whoever follows a response with a key that is revoked is told so in the stream, and it goes on for the others', async () => {
  const { finish } = begun()
  const other = await gateway.keys.createKey({ accountId: gateway.accountId, name: '' })
  const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
  const first = openai.responses.retrieve(id, { stream: true }).then(collect)
  const followed = await fetch(`${gateway.url}/v1/responses/${id}?stream=true`, {
    headers: { authorization: `Bearer ${other.key}` },
  })
  await until(async () => (await openai.responses.retrieve(id)).status === 'in_progress')
  await gateway.keys.revokeKey(other.id)
  const events = eventsOf(await followed.text())
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
  expect(events.slice(-2)).toMatchObject([
    {
      type: 'error',
      message: `This API key was revoked (request id: ${followed.headers.get('x-request-id')})`,
    },
    { type: 'response.failed', response: { id, status: 'failed' } },
  ])
  finish()
  expect((await first).at(-1)).toMatchObject({ type: 'response.completed' })
  expect((await ended(id)).output_text).toBe('first words and last')
})

test('a key that is revoked while its response is put into the queue ends it before it is sent anywhere', async () => {
  const { accountId, keyId, key } = await openPayer(gateway.database, { creditNano: 10n ** 9n })
  const { store } = gateway.server.gateway.responses
  const { add } = store
  const queueing = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  store.add = async response => {
    queueing.resolve()
    await gate.promise
    return add(response)
  }
  try {
    const asked = upstream.seen.length
    const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const created = client.responses.create({ model: 'chat/echo', input: 'go', background: true })
    await queueing.promise
    await gateway.keys.revokeKey(keyId)
    await gateway.server.gateway.ledger.beat()
    gate.resolve()
    const { id } = await created
    await until(async () => {
      const found = await store.find({ accountId, id })
      return found?.response.includes('This API key was revoked') === true
    })
    expect(upstream.seen.length).toBe(asked)
    await until(async () => (await gateway.ledger.balance(accountId))?.pendingNano === 0n)
    expect(await gateway.ledger.balance(accountId)).toMatchObject({ balanceNano: 10n ** 9n })
  } finally {
    store.add = add
  }
})

test('nothing goes on from a response that still runs', async () => {
  const { finish } = begun()
  const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
  const next = { model: 'chat/echo', input: 'and?', previous_response_id: id }
  const refusal = await openai.responses.create(next).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ status: 400, code: 'invalid_request', param: 'previous_response_id' })
  finish()
  await ended(id)
  upstream.answer = simulated
  expect(await openai.responses.create(next)).toMatchObject({ previous_response_id: id })
})

test('a caller who leaves ends nothing', async () => {
  const { finish } = begun()
  const controller = new AbortController()
  const { id } = await openai.responses.create(
    { model: 'chat/echo', input: 'go', background: true },
    { signal: controller.signal },
  )
  controller.abort()
  finish()
  expect(await ended(id)).toMatchObject({ status: 'completed', output_text: 'first words and last' })
})

describe('cancelling', () => {
  test('ends the response, keeps what it said by whole items, charges once, and may be repeated', async () => {
    const before = await money()
    begun()
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
    await until(async () => (await openai.responses.retrieve(id)).status === 'in_progress')
    const aborted = upstream.aborted
    const watching = collect(await openai.responses.retrieve(id, { stream: true }))
    const cancelled = await openai.responses.cancel(id)
    expect(cancelled).toMatchObject({ id, status: 'cancelled', error: null, background: true })
    for (const again of [await openai.responses.cancel(id), await openai.responses.retrieve(id)]) {
      expect(again).toMatchObject({ id, status: 'cancelled', output: cancelled.output })
    }
    expect((await watching).at(-1)).toMatchObject({ response: { status: 'cancelled' } })
    await until(() => upstream.aborted > aborted)
    expect(await charged(before)).toBe(1)
  })

  test('what has ended stays as it is', async () => {
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
    const done = await ended(id)
    expect(await openai.responses.cancel(id)).toMatchObject({ status: 'completed', output: done.output })
  })

  test('from another process is heard of by the one that runs it', async () => {
    begun()
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
    await until(async () => (await openai.responses.retrieve(id)).status === 'in_progress')
    const { responses } = gateway.server.gateway
    const end = { status: 'cancelled', response: '{"status":"cancelled"}', events: [] } as const
    const aborted = upstream.aborted
    await responses.store.finish(id, end)
    await responses.beat()
    await until(() => upstream.aborted > aborted)
    expect((await openai.responses.retrieve(id)).status).toBe('cancelled')
  })

  test('deleting one that runs cancels it first', async () => {
    begun()
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
    await until(async () => (await openai.responses.retrieve(id)).status === 'in_progress')
    const aborted = upstream.aborted
    await openai.responses.delete(id)
    await until(() => upstream.aborted > aborted)
    expect(await rejectionOf(openai.responses.retrieve(id))).toMatchObject({ status: 404 })
  })
})

describe('what fails', () => {
  test('before it is queued is an error at once, and leaves nothing', async () => {
    const [before] = await gateway.database.sql`select count(*) from stored_response`
    const refused = await rejectionOf(
      openai.responses.create({ model: 'chat/nothing', input: 'go', background: true }),
    )
    expect(refused).toMatchObject({ status: 400, code: 'model_not_found' })
    const [after] = await gateway.database.sql`select count(*) from stored_response`
    expect(after).toEqual(before as never)
  })

  test.each([
    ['is away', () => Promise.reject(Object.assign(new Error('closed'), { code: 'CONNECTION_CLOSED' }))],
    ['hangs', () => new Promise<never>(() => {})],
  ] as const)(
    'with a database that %s before it is queued is a 503 soon, and leaves no hold',
    async (_, act) => {
      const { store } = gateway.server.gateway.responses
      const { add, finish } = store
      Object.assign(store, { add: act, finish: act })
      const refused = await rejectionOf(
        openai.responses.create({ model: 'chat/echo', input: 'go', background: true }, { timeout: 20_000 }),
      ).finally(() => Object.assign(store, { add, finish }))
      expect(refused).toMatchObject({ status: 503, code: 'billing_unavailable' })
      await until(async () => (await money()).holds === 0)
    },
  )

  test.each([
    ['error-500', 'server_error'],
    ['error-429', 'rate_limit_exceeded'],
    ['error-400', 'invalid_prompt'],
    ['error-midstream', 'server_error'],
  ] as const)(
    "upstream (%s) is a failed response with a code of the API's own (%s), and costs at most once",
    async (steering, code) => {
      const before = await money()
      const { id } = await openai.responses.create({
        model: `chat/${steering}`,
        input: 'go',
        background: true,
      })
      const failed = await ended(id)
      expect(failed.status).toBe('failed')
      expect(failed.error?.code).toBe(code)
      expect(failed.error?.message.length).toBeGreaterThan(5)
      const told = await rejectionOf(collect(await openai.responses.retrieve(id, { stream: true })))
      expect(told).toMatchObject({ code, message: failed.error?.message })
      expect(await charged(before)).toBeLessThanOrEqual(1)
    },
  )

  test('with its process is failed by the next one that looks', async () => {
    begun()
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'go', background: true })
    await until(async () => (await openai.responses.retrieve(id)).status === 'in_progress')
    const { store } = gateway.server.gateway.responses
    await gateway.database
      .sql`update stored_response set seen_at = now() - interval '1 minute' where id = ${id}`
    expect((await store.abandoned(10_000)).ids).toEqual([id])
    await openai.responses.cancel(id)
  })
})
