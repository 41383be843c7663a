import { test } from 'bun:test'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, fedStream, type Script, until } from '#tests/support/upstreams/upstream.ts'

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "dear", channels: [{ channel: chat, model: "echo" }], prices: { input: 1, output: 1000000 } }
  - { id: "vectors", channels: [{ channel: chat, model: "echo" }], prices: { input: 1 } }`,
})

const DELTA = 'data: {"choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'
const WHOLE = `${DELTA}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\ndata: [DONE]\n\n`

/** Says nothing until the other side has closed. */
const silent: Script = (_request, signal) =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve(new Response())))
const failing: Script = () => new Response('{"error":{"message":"no"}}', { status: 500 })
const refusing: Script = () => new Response('{"error":{"message":"no"}}', { status: 400 })
const nonsense: Script = () => new Response('<html>')
const flowing: Script = () => {
  const fed = fedStream()
  fed.write(DELTA)
  return eventStream(fed.stream)
}
const cut: Script = () => eventStream(DELTA)
const faulty: Script = () => eventStream(`${DELTA}data: {"error":{"message":"no"}}\n\n`)
const complete: Script = () => eventStream(WHOLE)

type Leave = 'stays' | 'leaves before the head' | 'leaves in the middle'

const chat = (more: object) => ({
  path: '/v1/chat/completions',
  body: { model: 'chat/echo', messages: [{ role: 'user', content: 'hi' }], ...more },
})
const STREAM = chat({ stream: true })
const EMBEDDINGS = { path: '/v1/embeddings', body: { model: 'vectors', input: 'hi' } }

test.each<[string, { path: string; body: object; headers?: Record<string, string> }, Script, Leave]>([
  ['an answer that is complete', STREAM, complete, 'stays'],
  ['a caller who leaves before the head of a stream', STREAM, silent, 'leaves before the head'],
  ['a caller who leaves before a whole answer', chat({}), silent, 'leaves before the head'],
  ['a caller who leaves in the middle', STREAM, flowing, 'leaves in the middle'],
  ['an upstream that fails', STREAM, failing, 'stays'],
  ['an upstream that refuses', chat({}), refusing, 'stays'],
  ['an answer that is none', chat({}), nonsense, 'stays'],
  ['an answer that breaks off', STREAM, cut, 'stays'],
  ['an error in the middle', STREAM, faulty, 'stays'],
  ['credit that does not suffice', chat({ model: 'dear', max_tokens: 9000 }), complete, 'stays'],
  ['a model that is not there', chat({ model: 'nothing' }), complete, 'stays'],
  ['a body that cannot be read', chat({ messages: 'hi' }), complete, 'stays'],
  ['embeddings that fail', EMBEDDINGS, failing, 'stays'],
  ['a caller who leaves before embeddings', EMBEDDINGS, silent, 'leaves before the head'],
  [
    'a run with an Idempotency-Key whose upstream fails',
    { ...STREAM, headers: { 'idempotency-key': crypto.randomUUID() } },
    failing,
    'stays',
  ],
])('%s gives its place and its hold back: the only place is free for the next request', async (...given) => {
  const [, { path, body, headers = {} }, script, leave] = given
  const payer = await openPayer(gateway.database)
  await gateway.keys.changeKeyLimits(payer.keyId, { concurrentRequests: 1 })
  const ask = (called: { path: string; body: object }, signal?: AbortSignal) =>
    gateway.post(called.path, called.body, { key: payer.key, headers, signal })
  upstream.answer = script
  const leaving = new AbortController()
  const before = upstream.seen.length
  const asked = ask({ path, body }, leaving.signal)
  if (leave === 'leaves before the head') {
    await until(() => upstream.seen.length > before)
    leaving.abort()
    await asked.catch(() => undefined)
  } else {
    const reader = (await asked).body?.getReader()
    if (leave === 'leaves in the middle') {
      await reader?.read()
      leaving.abort()
    } else while ((await reader?.read())?.done === false);
  }

  await until(async () => (await gateway.ledger.balance(payer.accountId))?.pendingNano === 0n)
  upstream.answer = complete
  await until(async () => {
    const next = await ask({ ...STREAM, body: { ...STREAM.body, user: 'next' } })
    await next.text()
    return next.status === 200
  })
})
