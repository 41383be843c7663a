import { describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { BodyRoom } from '@/limits/body-room.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'one' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
}
const whole = () => Response.json(MESSAGE)
const START =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}\n\n'
const OUTPUT =
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}\n\n'

const upstream = fileUpstream(whole)
const gateway = await fileGateway({ upstreams: { messages: upstream.url, chat: upstream.url } })

/** From now on there is no memory but for what everybody always has, which one of the requests here fits in and two do not. */
function withoutMemory(): void {
  gateway.server.gateway.bodyRoom = new BodyRoom({
    clock: manualClock(),
    usedBytes: () => 1,
    mostBytes: 0,
    onRefused: () => undefined,
  })
}

function send(path: string, stream = false): Promise<Response> {
  const content = 'x'.repeat(600_000)
  const body = path.includes('responses')
    ? { input: content }
    : { max_tokens: 10, stream, messages: [{ role: 'user', content }] }
  return gateway.post(path, JSON.stringify({ model: 'messages/echo', ...body }))
}

/** Sends a request that the upstream has and does not answer before it is told to. */
async function held(path: string, stream = false) {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const before = upstream.seen.length
  upstream.answer = () => promise
  const answered = send(path, stream)
  await until(() => upstream.seen.length > before)
  upstream.answer = whole
  return { answered, resolve }
}

test('what is written anew keeps its room while its whole answer is waited for, and then gives it back', async () => {
  withoutMemory()
  const first = await held('/v1/chat/completions')
  const refused = await send('/v1/chat/completions')
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } })
  first.resolve(whole())
  expect((await first.answered).status).toBe(200)
  expect((await send('/v1/chat/completions')).status).toBe(200)
})

test('that of a stream keeps it until there is output, since another route may be tried, and no longer', async () => {
  withoutMemory()
  const first = await held('/v1/chat/completions', true)
  const answer = fedStream()
  answer.write(START)
  first.resolve(eventStream(answer.stream))
  expect((await send('/v1/chat/completions')).status).toBe(503)
  answer.write(OUTPUT)
  const { status, body } = await first.answered
  expect(status).toBe(200)
  expect((await send('/v1/chat/completions')).status).toBe(200)
  await body?.cancel()
})

test('one that fails gives its room back', async () => {
  withoutMemory()
  upstream.answer = () => new Response('{}', { status: 400 })
  expect((await send('/v1/chat/completions')).status).toBe(400)
  upstream.answer = whole
  expect((await send('/v1/chat/completions')).status).toBe(200)
})

test('what is handed on as it came takes no room for more', async () => {
  withoutMemory()
  const first = await held('/v1/messages')
  expect((await send('/v1/messages')).status).toBe(200)
  first.resolve(whole())
  expect((await first.answered).status).toBe(200)
})

describe('a count of tokens', () => {
  const MANY = { input_tokens: 150_000 }

  test('that has to be written anew gives its room back once it is answered, or has failed', async () => {
    withoutMemory()
    const first = await held('/v1/responses/input_tokens')
    const refused = await send('/v1/responses/input_tokens')
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } })
    first.resolve(Response.json(MANY))
    expect((await first.answered).status).toBe(200)
    upstream.answer = () => new Response('{}', { status: 400 })
    expect((await send('/v1/responses/input_tokens')).status).toBe(400)
    upstream.answer = () => Response.json(MANY)
    expect((await send('/v1/responses/input_tokens')).status).toBe(200)
  })

  test('that is handed on as it came, or estimated, takes no room for more', async () => {
    withoutMemory()
    const first = await held('/v1/responses/input_tokens')
    upstream.answer = () => Response.json(MANY)
    expect((await send('/v1/messages/count_tokens')).status).toBe(200)
    upstream.answer = () => new Response('{}', { status: 501 })
    const estimate = await send('/v1/messages/count_tokens')
    expect(estimate.headers.get('x-tollgate-estimated')).toBe('true')
    expect(await estimate.json()).toEqual({ input_tokens: 150_004 })
    first.resolve(Response.json(MANY))
    expect((await first.answered).status).toBe(200)
  })
})
