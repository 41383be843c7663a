import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'

const FIRST = {
  chat: 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one"}}]}\n\n',
  messages:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}\n\n',
  gemini: 'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"one"}]},"index":0}]}\n\n',
}
type Upstream = keyof typeof FIRST

const STREAMS = 8
const PROMPT_BYTES = 2_000_000

let first = ''
let opened = 0

const upstream = fileUpstream(() => {
  upstream.seen.length = 0
  opened += 1
  const answer = fedStream()
  answer.write(first)
  return eventStream(answer.stream)
})
const { url } = upstream
const gateway = await fileGateway({ upstreams: { chat: url, messages: url, gemini: url } })

/** What the collector leaves in this process: bytes, and requests, those that the upstream got included. */
function kept(): { bytes: number; requests: number } {
  Bun.gc(true)
  const { heapSize, objectTypeCounts } = heapStats()
  return { bytes: heapSize, requests: objectTypeCounts['Request'] ?? 0 }
}

/** A caller who has read the beginning of the answer. */
async function begin(to: Upstream, body: string): Promise<{ cancel(): Promise<void> }> {
  const response = await gateway.post('/v1/chat/completions', body.replace('UPSTREAM', to))
  expect(response.status).toBe(200)
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('an answer without a body')
  await reader.read()
  return reader
}

/** Many streams of a large request begin, and what is left of it is little. */
async function keepsNothing(to: Upstream, content: unknown): Promise<void> {
  first = FIRST[to]
  const body = JSON.stringify({
    model: 'UPSTREAM/echo',
    stream: true,
    max_tokens: 10,
    messages: [{ role: 'user', content }],
  })
  const warm = await begin(to, body)
  const before = kept()
  const readers = await Promise.all(Array.from({ length: STREAMS }, () => begin(to, body)))
  const after = kept()
  // The stack is searched for pointers without knowing their types, so one of them may be kept by accident.
  expect((after.bytes - before.bytes) / STREAMS).toBeLessThan(PROMPT_BYTES / 2)
  const upstreams = STREAMS
  expect(after.requests - before.requests).toBeLessThan(upstreams + STREAMS / 2)
  await Promise.all([warm, ...readers].map(reader => reader.cancel()))
  await until(() => upstream.aborted === opened)
}

test.each(['chat', 'messages'] as const)('a stream that has begun keeps nothing of its request (to %s)', to =>
  keepsNothing(to, 'const lorem = "ipsum"\n'.repeat(PROMPT_BYTES / 22)),
)

test('a stream that has begun keeps nothing of what was fetched for its request', async () => {
  await gateway.apply('fetch_media: true')
  gateway.server.gateway.fetchMedia = async () => ({
    mediaType: 'image/png',
    bytes: Buffer.alloc(PROMPT_BYTES),
  })
  await keepsNothing('gemini', [{ type: 'image_url', image_url: { url: 'http://public.example/a.png' } }])
})

test('a caller who leaves is noticed although nothing is kept of the request', async () => {
  first = FIRST.chat
  const body = JSON.stringify({
    model: 'UPSTREAM/echo',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const readers = await Promise.all(Array.from({ length: STREAMS }, () => begin('chat', body)))
  Bun.gc(true)
  await Promise.all(readers.map(reader => reader.cancel()))
  await until(() => upstream.aborted === opened)
})

/** So many that what is made once does not count, and so few that Bun runs the four fetches of each pair of them at once. */
const MANY = 40

/** Objects of an open stream on all sides of it: upstream, gateway and caller are in this process. */
async function objectsOfOne(to: Upstream): Promise<number> {
  first = FIRST[to]
  const body = JSON.stringify({
    model: 'UPSTREAM/echo',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const open = () => Promise.all(Array.from({ length: MANY }, () => begin(to, body)))
  const warm = await open()
  const before = objectCount()
  const readers = await open()
  const count = (objectCount() - before) / MANY
  await Promise.all([...warm, ...readers].map(reader => reader.cancel()))
  await until(() => upstream.aborted === opened)
  return count
}

function objectCount(): number {
  Bun.gc(true)
  return heapStats().objectCount
}

/** 230 to 260 when this was written. A closure is two objects, a table that is rarely used two more: nobody sees them add up. */
const MOST = 310

test.each(['chat', 'messages'] as const)('an open stream is made of few objects (to %s)', async to => {
  // What else is in this process comes and goes meanwhile, and counts to either side: the middle of three.
  const counts = [await objectsOfOne(to), await objectsOfOne(to), await objectsOfOne(to)]
  expect(counts.sort((one, other) => one - other)[1]).toBeLessThan(MOST)
})
