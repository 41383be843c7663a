import { describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { withoutSent } from '@/telemetry/sent-credentials.ts'
import type { Dial } from '@/upstream/address-guard.ts'
import { AttemptHeaders, attemptHeaders } from '@/upstream/attempt-headers.ts'
import type { UpstreamRequest } from '@/upstream/request.ts'

const asItIs: Dial = { url: 'http://a.example/', headers: {}, tls: undefined }
const pinned: Dial = { url: 'https://1.1.1.1/', headers: { host: 'a.example' }, tls: undefined }
const usual = Object.freeze({ 'anthropic-version': '2023-06-01' })
const chat = channelOf(1)
const team = channelOf(2, { format: 'anthropic-messages', headers: { 'x-team': 'a', 'User-Agent': 'ours' } })
const keys = [undefined, { id: 1, secret: 'one' }, { id: 2, secret: 'two' }]
const given = [{}, usual, { ...usual, 'anthropic-beta': 'a' }, { authorization: 'Bearer mine' }]
const bodies = [undefined, Buffer.from('{}'), { length: 7, open: () => new ReadableStream<Uint8Array>() }]

/** Every request that differs in anything that its headers say. */
function* requests(): Generator<UpstreamRequest> {
  for (const channel of [chat, team])
    for (const key of keys)
      for (const headers of given)
        for (const body of bodies)
          for (const stream of [true, false]) {
            const call = { kind: 'generate', model: 'm', stream } as const
            yield { channel, key, call, body, headers, attempt: new AbortController() }
          }
}

describe('headers that were made before', () => {
  test('are those that are made anew, for any request', () => {
    const made = new AttemptHeaders()
    for (let round = 0; round < 2; round += 1) {
      for (const request of requests()) {
        expect([...made.of(request, asItIs)]).toEqual([...new Headers(attemptHeaders(request))])
      }
    }
  })

  test('are the same object where nothing differs', () => {
    const made = new AttemptHeaders()
    const same = [...requests()].filter(({ headers, body }) => headers === usual && body === bodies[1])
    for (const request of same) {
      expect(made.of({ ...request, body: Buffer.from('other') }, asItIs)).toBe(made.of(request, asItIs))
    }
    expect(new Set(same.map(request => made.of(request, asItIs))).size).toBe(same.length)
  })

  test('are not changed by the way one of them is dialled', () => {
    const made = new AttemptHeaders()
    for (const request of requests()) {
      expect(made.of(request, pinned).get('host')).toBe('a.example')
      expect(made.of(request, asItIs).get('host')).toBeNull()
    }
  })
})

test("the operator's word for a channel is the last, the key comes before what the caller said", () => {
  const [secret] = [...requests()].filter(({ key, headers }) => key?.id === 1 && headers === given[3])
  expect(secret && attemptHeaders(secret)).toMatchObject({ authorization: 'Bearer one' })
  const [named] = [...requests()].filter(({ channel }) => channel === team)
  expect(named && attemptHeaders(named)).toMatchObject({ 'user-agent': 'ours', 'x-team': 'a' })
})

test.each([
  ['openai-chat-completions', { Authorization: 'Basic mine', ACCEPT: 'a/b' }],
  ['openai-responses', { AUTHORIZATION: 'Basic mine', 'User-Agent': 'ours' }],
  ['anthropic-messages', { 'X-Api-Key': 'mine', 'Anthropic-Version': '2099-01-01' }],
  ['gemini-generate-content', { 'X-Goog-Api-Key': 'mine' }],
] as const)(
  "of %s the operator's word takes the place of ours, however its name is spelled",
  (format, own) => {
    const channel = channelOf(3, { format, headers: own })
    const [request] = [...requests()].filter(({ key, headers }) => key?.id === 1 && headers === usual)
    const sent = new Headers(request && attemptHeaders({ ...request, channel }))
    for (const [name, value] of Object.entries(own)) expect(sent.get(name)).toBe(value)
  },
)

test.each([
  ['nothing', undefined, {}],
  ['a body', bodies[1], { 'content-type': 'application/json' }],
  ['a body that flows', bodies[2], { 'content-type': 'application/json', 'content-length': '7' }],
] as const)('beside %s it is said what is sent and what is wanted', (_, body, content) => {
  const call = { kind: 'generate', model: 'm', stream: true } as const
  const request = { channel: chat, key: undefined, body, headers: usual, attempt: new AbortController() }
  const always = { 'accept-encoding': 'identity', 'user-agent': 'tollgate', ...usual, ...content }
  expect(attemptHeaders({ ...request, call })).toEqual({ ...always, accept: 'text/event-stream' })
  const whole = { ...call, stream: false }
  expect(attemptHeaders({ ...request, call: whole })).toEqual({ ...always, accept: 'application/json' })
})

test('what an upstream learns that is secret is known when it says it again', () => {
  const headers = {
    'X-Api-Token': 'a-token-of-the-operator',
    Cookie: 'Bearer another-of-the-operator',
    'x-team': 'the-name-of-a-team',
  }
  const [request] = requests()
  if (request === undefined) throw new Error('no request')
  attemptHeaders({
    ...request,
    key: { id: 1, secret: 'a-key-of-the-channel' },
    channel: { ...chat, headers },
  })
  const said = 'a-token-of-the-operator another-of-the-operator a-key-of-the-channel the-name-of-a-team'
  expect(withoutSent(said, '*')).toBe('* * * the-name-of-a-team')
})
