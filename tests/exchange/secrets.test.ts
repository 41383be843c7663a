import { expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, type Script } from '#tests/support/upstreams/upstream.ts'

/** As no vendor's keys look. */
const OPERATOR_HEADERS = {
  authorization: 'Custom 0f3c-operator-9d81-authorization',
  'x-proxy-token': '7b21operator52token',
  'x-team': 'a team with a long name',
}

const { gateway, upstream } = await scriptedGateway({
  channelOptions: `headers: ${JSON.stringify(OPERATOR_HEADERS)}`,
})

/** What was sent to the upstream, in words of its own. */
const ECHO = `key upstream-key-chat, ${OPERATOR_HEADERS.authorization}, ${OPERATOR_HEADERS['x-proxy-token']}, ${OPERATOR_HEADERS['x-team']}`
const SECRETS = ['upstream-key-chat', '0f3c-operator-9d81-authorization', OPERATOR_HEADERS['x-proxy-token']]
const ERROR = JSON.stringify({ error: { message: ECHO, type: 'server_error' } })
const DELTA = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one"}}]}\n\n'

test.each<[string, Script]>([
  ...[400, 401, 429, 500, 503].map((status): [string, Script] => [
    `a ${status}`,
    () => new Response(ERROR, { status }),
  ]),
  ['an error text', () => new Response(ECHO, { status: 500 })],
  ['an error inside a 200', () => new Response(ERROR)],
  ['an error as the first event', () => eventStream(`data: ${ERROR}\n\n`)],
  ['an error in the middle of a stream', () => eventStream(`${DELTA}data: ${ERROR}\n\n`)],
])('what was sent to an upstream in secret and comes back in %s is told to nobody', async (_, script) => {
  upstream.answer = script
  gateway.logLines.length = 0
  let told = ''
  for (const [path, stream] of [
    ['/v1/chat/completions', false],
    ['/v1/chat/completions', true],
    ['/v1/messages', false],
    ['/v1/messages', true],
  ] as const) {
    const response = await gateway.post(
      path,
      {
        model: 'chat/echo',
        stream,
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
      },
      { headers: { cookie: 'session=caller-session-cookie' } },
    )
    told += `${JSON.stringify([...response.headers])}${await response.text()}`
  }
  const seen = upstream.seen.at(-1)
  expect(seen?.headers.get('x-proxy-token')).toBe(OPERATOR_HEADERS['x-proxy-token'])
  expect(seen?.headers.get('cookie')).toBeNull()
  const rows = JSON.stringify(await gateway.exchanges(), (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  for (const text of [told, gateway.logLines.join(''), rows, metrics]) {
    for (const secret of [...SECRETS, gateway.key, 'caller-session-cookie'])
      expect(text).not.toContain(secret)
  }
})
