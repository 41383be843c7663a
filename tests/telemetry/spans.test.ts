import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { least, msOf } from '#tests/support/least.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { asArray, asObject, isJsonObject, type JsonObject } from '@/json/json.ts'
import { createLog } from '@/telemetry/log.ts'
import { type ExchangeSpan, openSpans } from '@/telemetry/spans.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SECRET_TEXT = 'tell nobody about the marmalade'

/** A collector as OTLP's JSON over HTTP has it. */
const received: JsonObject[] = []
const collector = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body: unknown = await request.json()
    if (new URL(request.url).pathname === '/v1/traces' && isJsonObject(body)) received.push(body)
    return Response.json({})
  },
})
const COLLECTOR = collector.url.href.replace(/\/$/, '')

const SILENT = createLog({ level: 'silent', format: 'json' })

/** OTLP's codes of a status. */
const UNSET = 0
const ERROR = 2

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ otlpEndpoint: COLLECTOR })
})
afterAll(() => collector.stop(true))

function ask(model: string, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: SECRET_TEXT }] },
    { headers },
  )
}

function spans(): JsonObject[] {
  return received.flatMap(body =>
    asArray(body['resourceSpans']).flatMap(resource =>
      asArray(asObject(resource)?.['scopeSpans']).flatMap(scope =>
        asArray(asObject(scope)?.['spans']).filter(isJsonObject),
      ),
    ),
  )
}

function attribute(span: JsonObject | undefined, name: string): unknown {
  const found = asArray(span?.['attributes']).find(entry => asObject(entry)?.['key'] === name)
  return Object.values(asObject(asObject(found)?.['value']) ?? {})[0]
}

test('an exchange is one span with a span for each attempt, in the trace of its caller, without a word of its content', async () => {
  const answer = await ask('chat/echo', { traceparent: `00-${TRACE}-b7ad6b7169203331-01` })
  const id = answer.headers.get('x-request-id')
  await answer.text()
  await ask('chat/error-500')
  // Closing sends what waits.
  await gateway.close()
  const served = spans().find(span => attribute(span, 'tollgate.request_id') === id)
  expect(served).toMatchObject({ traceId: TRACE, parentSpanId: 'b7ad6b7169203331', name: 'chat chat/echo' })
  expect(attribute(served, 'tollgate.end_state')).toBe('complete')
  expect(Number(attribute(served, 'gen_ai.usage.input_tokens'))).toBeGreaterThan(0)
  const [attempt] = spans().filter(span => span['parentSpanId'] === served?.['spanId'])
  expect(attribute(attempt, 'tollgate.outcome')).toBe('ok')
  const failed = spans().find(span => span['name'] === 'chat chat/error-500')
  expect(failed?.['status']).toMatchObject({ code: ERROR })
  expect(attribute(failed, 'error.type')).toBe('upstream_error')
  const text = JSON.stringify(received)
  for (const secret of [gateway.key, SECRET_TEXT]) expect(text).not.toContain(secret)
}, 60_000)

/** An exchange of which only what a test says is special. */
function exchangeSpan(more: Partial<ExchangeSpan> = {}): ExchangeSpan {
  return {
    requestId: 'r',
    surface: 'chat',
    model: undefined,
    streamed: false,
    startedAt: 0,
    endedAt: 1,
    firstByteAt: undefined,
    status: 200,
    endState: 'complete',
    error: undefined,
    inputTokens: undefined,
    outputTokens: undefined,
    traceparent: undefined,
    attempts: [],
    ...more,
  }
}

test.each([
  [200, 'no error'],
  [429, 'no error'],
  [499, 'no error'],
  [500, 'an error'],
  [503, 'an error'],
])('the span of an exchange that ended in %d is %s of this service', async (status, what) => {
  const spansOfTest = await openSpans(COLLECTOR, SILENT)
  const requestId = `status ${status}`
  spansOfTest.add(exchangeSpan({ requestId, status, error: 'upstream_error' }))
  await spansOfTest.close()
  const span = spans().find(sent => attribute(sent, 'tollgate.request_id') === requestId)
  expect(span?.['status']).toEqual(
    what === 'no error' ? { code: UNSET } : { code: ERROR, message: 'upstream_error' },
  )
})

test('an attempt that failed is an error in its own span, and the one that served is none', async () => {
  const spansOfTest = await openSpans(COLLECTOR, SILENT)
  const attempts = ['ok', 'upstream_timeout'].map(outcome => ({
    channel: `gave ${outcome}`,
    startedAt: 0,
    endedAt: 1,
    outcome,
  }))
  spansOfTest.add(exchangeSpan({ attempts }))
  await spansOfTest.close()
  const statusOf = (channel: string) => spans().find(({ name }) => name === `attempt ${channel}`)?.['status']
  expect(statusOf('gave ok')).toEqual({ code: UNSET })
  expect(statusOf('gave upstream_timeout')).toEqual({ code: ERROR, message: 'upstream_timeout' })
})

test('a collector that is away holds up neither an answer nor the end of the process', async () => {
  const close = async () => {
    const spans = await openSpans('http://127.0.0.1:1', SILENT)
    spans.add(exchangeSpan())
    return msOf(() => spans.close())
  }
  expect(await least(6_000, close)).toBeLessThan(6_000)
}, 60_000)

test('a collector that takes no spans is told once, and once that it does again', async () => {
  let status = 401
  let batches = 0
  const moody = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      batches += 1
      return Response.json({}, { status })
    },
  })
  const told: { level: number; msg: string }[] = []
  const log = createLog(
    { level: 'info', format: 'json' },
    { write: line => void told.push(JSON.parse(line)) },
  )
  const spansOfTest = await openSpans(moody.url.origin, log)
  /** As many as a batch has leave at once. */
  const send = async () => {
    const before = batches
    for (let count = 0; count < 512; count += 1) spansOfTest.add(exchangeSpan())
    await until(() => batches > before)
  }
  await send()
  await until(() => told.length === 1)
  await send()
  status = 200
  await send()
  await spansOfTest.close()
  await moody.stop(true)
  expect(told.map(({ level, msg }) => [level, msg])).toEqual([
    [40, 'spans could not be sent'],
    [30, 'spans are sent again'],
  ])
}, 60_000)
