import { expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { BodyRoom } from '@/limits/body-room.ts'

const { gateway, upstream } = await scriptedGateway({ maxBodyBytes: 8192 })
const ample = await scriptedGateway()

interface Told {
  status: number
  id: string
  output: { id: string }[]
  code: string | undefined
  param: string | undefined
}

async function ask(to: { url: string; key: string }, fields: object): Promise<Told> {
  const response = await fetch(`${to.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat/echo', ...fields }),
  })
  const { id = '', output = [], error } = JSON.parse(await response.text())
  return { status: response.status, id, output, code: error?.code, param: error?.param }
}

/** The simulator says it again, so that a turn keeps it twice. */
const words = (length: number) => 'x'.repeat(length)

test('a turn that is small is refused where the conversation that it goes on with makes it too large', async () => {
  const first = await ask(gateway, { input: words(2000), store: true })
  expect(first.status).toBe(200)
  expect((await ask(gateway, { input: 'and?', previous_response_id: first.id })).status).toBe(200)
  const asked = upstream.seen.length
  const next = await ask(gateway, { input: words(5000), previous_response_id: first.id })
  expect(next).toMatchObject({ status: 413, code: 'body_too_large' })
  expect(upstream.seen).toHaveLength(asked)
})

test('a conversation that is too large by itself is not gone on with', async () => {
  const first = await ask(gateway, { input: words(4500), store: true })
  expect(first.status).toBe(200)
  const asked = upstream.seen.length
  const next = await ask(gateway, { input: 'hi', previous_response_id: first.id })
  expect(next).toMatchObject({ status: 413, code: 'body_too_large' })
  expect(upstream.seen).toHaveLength(asked)
})

test('a small turn is refused where there is no memory for what it goes on with, or refers to', async () => {
  const first = await ask(ample.gateway, { input: words(1_500_000), store: true })
  const [item] = first.output
  const asked = ample.upstream.seen.length
  const own = ample.gateway.server.gateway
  const { bodyRoom } = own
  const room = { clock: manualClock(), usedBytes: () => 0, onRefused: () => undefined }
  const statusOf = async (fields: object, mostBytes: number) => {
    own.bodyRoom = new BodyRoom({ ...room, mostBytes })
    return (await ask(ample.gateway, fields)).status
  }
  const goesOn = { input: 'hi', previous_response_id: first.id }
  const refers = { input: [{ type: 'item_reference', id: item?.id }] }
  const statuses = [
    await statusOf(goesOn, 10_000_000),
    await statusOf(refers, 10_000_000),
    await statusOf({ input: 'hi' }, 10_000_000),
  ]
  expect(ample.upstream.seen).toHaveLength(asked + 1)
  statuses.push(await statusOf(goesOn, 30_000_000), await statusOf(refers, 30_000_000))
  own.bodyRoom = bodyRoom
  expect(statuses).toEqual([503, 503, 200, 200, 200])
  ample.upstream.seen.length = 0
})

test('a response is shown, and its input listed, where there is memory for it', async () => {
  const { id } = await ask(ample.gateway, { input: words(1_500_000), store: true })
  const own = ample.gateway.server.gateway
  const { bodyRoom } = own
  const room = { clock: manualClock(), usedBytes: () => 0, onRefused: () => undefined }
  const statusOf = async (path: string, mostBytes: number) => {
    own.bodyRoom = new BodyRoom({ ...room, mostBytes })
    const headers = { authorization: `Bearer ${ample.gateway.key}` }
    const { status } = await fetch(`${ample.gateway.url}/v1/responses/${id}${path}`, { headers })
    return status
  }
  const statuses = [
    await statusOf('', 5_000_000),
    await statusOf('/input_items', 5_000_000),
    await statusOf('', 10_000_000),
    await statusOf('/input_items', 10_000_000),
  ]
  own.bodyRoom = bodyRoom
  expect(statuses).toEqual([503, 503, 200, 200])
  ample.upstream.seen.length = 0
})

/** Does something to a stored response while there is no memory for more than a few bytes; the answer is its status. */
async function withoutRoom(method: string, path: string): Promise<number> {
  const own = ample.gateway.server.gateway
  const { bodyRoom } = own
  const room = { clock: manualClock(), usedBytes: () => 2_000_000, onRefused: () => undefined }
  own.bodyRoom = new BodyRoom({ ...room, mostBytes: 2_000_000 })
  const headers = { authorization: `Bearer ${ample.gateway.key}` }
  const response = await fetch(`${ample.gateway.url}/v1/responses/${path}`, { method, headers })
  await response.body?.cancel()
  own.bodyRoom = bodyRoom
  return response.status
}

test('a response that still runs is shown and cancelled, however large its input is and however little memory there is', async () => {
  const fed = fedStream()
  ample.upstream.answer = () => eventStream(fed.stream)
  const { id } = await ask(ample.gateway, { input: words(1_500_000), background: true })
  await until(() => ample.upstream.seen.length === 1)
  const statuses: number[] = []
  for (let poll = 0; poll < 8; poll += 1) statuses.push(await withoutRoom('GET', id))
  expect(statuses).toEqual(Array(8).fill(200))
  expect(await withoutRoom('GET', `${id}?stream=true`)).toBe(200)
  expect(await withoutRoom('GET', `${id}/input_items`)).toBe(503)
  expect(await withoutRoom('POST', `${id}/cancel`)).toBe(200)
  await fed.left
  expect(await withoutRoom('DELETE', id)).toBe(200)
  ample.upstream.answer = simulated
  ample.upstream.seen.length = 0
})

test('a response that is large is deleted however little memory there is', async () => {
  const { id } = await ask(ample.gateway, { input: words(1_500_000), store: true })
  expect(await withoutRoom('GET', id)).toBe(503)
  expect(await withoutRoom('DELETE', id)).toBe(200)
  expect(await withoutRoom('GET', id)).toBe(404)
  ample.upstream.seen.length = 0
})

test('turns whose parts are too many together are refused as a body of so many is', async () => {
  const parts = Array.from({ length: 600_000 }, () => ({}))
  const input = [{ type: 'message', role: 'user', content: 'hi', parts }]
  const first = await ask(ample.gateway, { input, store: true })
  expect(first.status).toBe(200)
  const asked = ample.upstream.seen.length
  const next = await ask(ample.gateway, { input, previous_response_id: first.id })
  expect(next).toMatchObject({ status: 400, code: 'invalid_request' })
  expect(ample.upstream.seen).toHaveLength(asked)
  ample.upstream.seen.length = 0
})

test('a turn that is nested too deeply is refused for that, and not for a model that it names', async () => {
  const parts = JSON.parse('['.repeat(2000) + ']'.repeat(2000))
  const input = [{ type: 'message', role: 'user', content: 'hi', parts }]
  const told = await ask(ample.gateway, { input, store: true })
  expect(told).toMatchObject({ status: 400, code: 'invalid_request', param: null })
})

test('more than is kept of a turn is refused before anything is asked, and taken without store', async () => {
  const input = words(16 * 1024 * 1024 + 1)
  expect(await ask(ample.gateway, { input, store: true })).toMatchObject({
    status: 413,
    code: 'body_too_large',
    param: 'input',
  })
  expect(ample.upstream.seen).toHaveLength(0)
  ample.upstream.answer = () =>
    Response.json({
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    })
  expect((await ask(ample.gateway, { input, store: false })).status).toBe(200)
})
