import { expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { MAX_FAILOVER_MS } from '@/exchange/attempt/failover.ts'

const WHOLE =
  '{"id":"2","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"two"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}'

const clock: ManualClock = manualClock()
let takesMs = 0
const slow = fileUpstream(() => {
  clock.advance(takesMs)
  return new Response('{"error":{"message":"no"}}', { status: 500 })
})
const good = fileUpstream(() => new Response(WHOLE))
const gateway = await fileGateway({ clock })
await gateway.apply(`channels:
  - { name: slow, format: openai-chat-completions, base_url: "${slow.url}", api_keys: [one], timeouts: { connect_ms: 900000, first_byte_ms: 900000 } }
  - { name: good, format: openai-chat-completions, base_url: "${good.url}", api_keys: [two], priority: 1 }
models:
  - { id: pair, channels: [{ channel: slow, model: m }, { channel: good, model: m }], prices: { input: 1, output: 2 } }
`)

function ask(text: string): Promise<Response> {
  return gateway.post(
    '/v1/chat/completions',
    `{"model":"pair","messages":[{"role":"user","content":"${text}"}]}`,
  )
}

test.each([
  [MAX_FAILOVER_MS - 1, 200],
  [MAX_FAILOVER_MS, 502],
])('a failure after %d ms ends in %d: later than five minutes nobody else is asked', async (ms, status) => {
  takesMs = ms
  expect((await ask(`after ${ms}`)).status).toBe(status)
  expect(good.seen).toHaveLength(1)
})

test('the time of an attempt is told without that of the ones before it', async () => {
  takesMs = 1000
  expect((await ask('soon')).status).toBe(200)
  const shown = gateway.server.channelHealth().find(({ channel }) => channel === 'good')
  expect(shown?.firstByteMs).toBe(0)
})
