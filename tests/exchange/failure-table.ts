import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { type RawRequest, rawUpstream } from '#tests/support/upstreams/raw-upstream.ts'
import { eventStream, fedStream, type Script, scriptedUpstream } from '#tests/support/upstreams/upstream.ts'

/** When an upstream's answer goes wrong. */
export const STAGES = ['before the head', 'after the head', 'after output'] as const
type Stage = (typeof STAGES)[number]

/** A way in which an upstream fails, and what must come of it. */
interface Failure {
  stage: Stage
  name: string
  upstream: { script: Script } | { raw: (request: RawRequest) => void } | { port: 'closed' }
  /** What a caller sees where there is no other channel. */
  alone: string
  /** Whether the answer is one that is waited for in vain. */
  isSilent: boolean
  /** Whether another channel is asked. */
  movesOn: boolean
  /** Whether what was delivered of the broken answer is billed. */
  isBilled: boolean
}

/** One square of the table. */
interface Observed {
  caller: string
  /** Requests that each channel got. */
  asked: readonly [number, number]
  billedNano: bigint
  endState: string
}

const DELTA = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one one one"}}]}\n\n'
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}\n\ndata: [DONE]\n\n'
const ROLE = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
const ERROR = 'data: {"error":{"message":"busy","type":"server_error"}}\n\n'
/** Where nothing listens, and never will: a port that was free a moment ago may be anybody's. */
const NOBODY = 'http://127.0.0.1:1'
/** What the second channel's answer costs: 5 tokens at 1, 7 at 2 per million. */
const ANSWER_NANO = 19_000n

const before = (name: string, upstream: Failure['upstream'], alone: string, movesOn = true): Failure => ({
  stage: 'before the head',
  name,
  upstream,
  alone,
  isSilent: false,
  movesOn,
  isBilled: false,
})

const status = (code: number, alone: string, movesOn = true): Failure =>
  before(
    `status ${code}`,
    { script: () => new Response('{"error":{"message":"no"}}', { status: code }) },
    alone,
    movesOn,
  )

const after = (name: string, answer: () => Response, alone: string): Failure => ({
  stage: 'after the head',
  name,
  upstream: { script: answer },
  alone,
  isSilent: false,
  movesOn: true,
  isBilled: false,
})

/** Resolves when the caller of the call that is made has read some of an answer. */
let output = Promise.withResolvers<void>()

const late = (name: string, end: (fed: ReturnType<typeof fedStream>) => void, caller: string): Failure => ({
  stage: 'after output',
  name,
  upstream: {
    script: async () => {
      const fed = fedStream()
      fed.write(DELTA)
      void output.promise.then(() => end(fed))
      return eventStream(fed.stream)
    },
  },
  alone: caller,
  isSilent: false,
  movesOn: false,
  isBilled: true,
})

const hanging = (text: string) => () => {
  const fed = fedStream()
  fed.write(text)
  return eventStream(fed.stream)
}

/** What an upstream that breaks off sends, on a bare socket: a head, and `text` as a chunk that is not the last. */
const broken = (text: string, arrived: () => Promise<void>) => ({
  raw: ({ socket }: RawRequest) => {
    const chunk = `${text.length.toString(16)}\r\n${text}\r\n`
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`,
    )
    void arrived().then(() => socket.destroy())
  },
})

const silent = (failure: Failure): Failure => ({ ...failure, isSilent: true })

export const FAILURES: readonly Failure[] = [
  before('no connection', { port: 'closed' }, '502 upstream_error'),
  before('closed without an answer', { raw: ({ socket }) => socket.destroy() }, '502 upstream_error'),
  silent(
    before('no head in time', { script: () => new Promise<Response>(() => {}) }, '504 upstream_timeout'),
  ),
  status(500, '502 upstream_error'),
  status(502, '502 upstream_error'),
  status(503, '503 upstream_error'),
  status(504, '502 upstream_error'),
  status(529, '503 upstream_error'),
  status(429, '429 upstream_rate_limited'),
  status(401, '502 upstream_auth'),
  status(402, '502 upstream_auth'),
  status(403, '502 upstream_auth'),
  status(400, '400 invalid_request', false),
  status(404, '404 invalid_request', false),
  status(413, '413 invalid_request', false),
  status(422, '422 invalid_request', false),
  after('no answer in a 200', () => new Response('<html>busy</html>'), '502 upstream_error'),
  after('an error as the first event', () => eventStream(ERROR), '502 upstream_error'),
  after('an error after an empty event', () => eventStream(ROLE + ERROR), '502 upstream_error'),
  after('a clean end without an answer', () => eventStream(ROLE), '502 upstream_error'),
  {
    ...after('a broken connection', () => eventStream(''), '502 upstream_error'),
    upstream: broken(ROLE, () => Bun.sleep(20)),
  },
  silent(after('silence', hanging(ROLE), '504 upstream_timeout')),
  late('an error event', fed => fed.write(ERROR), '200, then an error'),
  late('a clean end without the last event', fed => fed.close(), '200, then an error'),
  {
    ...late('a broken connection', () => {}, '200, then an error'),
    upstream: broken(DELTA, () => output.promise),
  },
  silent(late('silence', () => {}, '200, then an error')),
]

/** A gateway before two upstreams, the first of which fails as a row of the table says. */
export interface FailureRig {
  /** Makes one streamed call, of a model that is on one channel or on both. */
  observe(failure: Failure, channels: 1 | 2): Promise<Observed>
  close(): Promise<void>
}

export async function startFailureRig(): Promise<FailureRig> {
  let script: Script = () => new Response()
  let raw: (request: RawRequest) => void = () => {}
  const first = scriptedUpstream((request, signal) => script(request, signal))
  const bare = await rawUpstream(request => raw(request))
  const second = scriptedUpstream(() => eventStream(DELTA.replaceAll('one', 'two') + END))
  const gateway = await startTestGateway()
  let round = 0

  /** New channels each time, so that no breaker remembers the row before. */
  async function twoChannels(
    url: string,
    channels: 1 | 2,
    { firstByteMs, idleMs }: { firstByteMs: number; idleMs: number },
  ): Promise<string> {
    round += 1
    const routes = ['a', 'b'].slice(0, channels).map(name => `{ channel: ${name}-${round}, model: m }`)
    await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${url}", api_keys: ["one-${round}"], priority: 0, timeouts: { first_byte_ms: ${firstByteMs}, idle_ms: ${idleMs} } }
  - { name: b-${round}, format: openai-chat-completions, base_url: "${second.url}", api_keys: ["two-${round}"], priority: 1 }
models:
  - { id: pair-${round}, channels: [${routes.join(', ')}], prices: { input: 1, output: 2 } }
`)
    return `pair-${round}`
  }

  return {
    async observe({ stage, upstream, isSilent }, channels) {
      if ('script' in upstream) script = upstream.script
      if ('raw' in upstream) raw = upstream.raw
      const url = 'script' in upstream ? first.url : 'raw' in upstream ? bare.url : NOBODY
      // A channel that answers is waited for however long it takes: no row but those of silence is about time.
      const model = await twoChannels(url, channels, {
        firstByteMs: isSilent && stage !== 'after output' ? 300 : 60_000,
        idleMs: isSilent ? 300 : 60_000,
      })
      output = Promise.withResolvers()
      const asked = () => [first.seen.length + bare.requests, second.seen.length] as const
      const [firstBefore, secondBefore] = asked()
      const caller = await call(gateway, model)
      const [firstAfter, secondAfter] = asked()
      const exchange = await gateway.lastExchange()
      return {
        caller,
        asked: [firstAfter - firstBefore, secondAfter - secondBefore],
        billedNano: BigInt(String(exchange['cost_nano'] ?? 0)),
        endState: String(exchange['end_state']),
      }
    },
    async close() {
      await gateway.close()
      await Promise.all([first.stop(), second.stop(), bare.stop()])
    },
  }
}

async function call(gateway: TestGateway, model: string): Promise<string> {
  const response = await gateway.post(
    '/v1/chat/completions',
    `{"model":"${model}","stream":true,"messages":[{"role":"user","content":"hi ${model}"}]}`,
  )
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('one')) output.resolve()
  }
  if (response.status !== 200) return `${response.status} ${/"code":"(\w+)"/.exec(text)?.[1]}`
  if (text.includes('"error"')) return text.includes('two') ? 'SPLICED' : '200, then an error'
  if (text.includes('one')) return text.includes('two') ? 'SPLICED' : 'half an answer as if it were whole'
  return '200, the answer of the other'
}

/** What is wrong with a square; undefined if nothing is. */
export function fault(
  failure: Failure,
  channels: 1 | 2,
  { caller, asked, billedNano }: Observed,
): string | undefined {
  const moves = failure.movesOn && channels === 2
  const expected = moves ? '200, the answer of the other' : failure.alone
  if (caller !== expected) return `the caller sees "${caller}" and not "${expected}"`
  const reached = 'port' in failure.upstream ? 0 : 1
  if (asked[0] !== reached || asked[1] !== (moves ? 1 : 0)) return `asked ${asked.join(' and ')} times`
  if (moves)
    return billedNano === ANSWER_NANO ? undefined : `${billedNano} nano are billed and not ${ANSWER_NANO}`
  // What was delivered is estimated: it is something, and less than the whole answer.
  const isRight = failure.isBilled ? billedNano > 0n && billedNano < ANSWER_NANO : billedNano === 0n
  return isRight ? undefined : `${billedNano} nano are billed`
}
