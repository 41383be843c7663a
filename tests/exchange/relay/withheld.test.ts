import { describe, expect, test } from 'bun:test'
import { fedStream } from '#tests/support/upstreams/upstream.ts'
import { replyContext } from '#tests/transcripts/conversion.ts'
import { systemClock } from '@/clock/clock.ts'
import type { GatewayError } from '@/errors/gateway-error.ts'
import { HubPipeline } from '@/exchange/relay/hub-pipeline.ts'
import { Outlet } from '@/exchange/relay/outlet.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

/*
 * Output that no event tells while it comes: what a vendor's own tool is given, what is spoken, what is held back until
 * something else has ended. It is paid for as it comes, by whoever hangs up on it, too.
 */

const TEXT = 'x'.repeat(40)
const PIECES = 10
/** Of all pieces, as the gateway counts them. */
const TOKENS = 100

interface Stream {
  from: Format
  head: readonly JsonObject[]
  piece: JsonObject
  /** What tells it after all, or ends it untold. */
  rest?: readonly JsonObject[]
}

const messageStart = { type: 'message_start', message: { id: 'm', model: 'm', content: [], usage: {} } }
const blockStart = (index: number, content_block: JsonObject) => ({
  type: 'content_block_start',
  index,
  content_block,
})
const blockDelta = (index: number, delta: JsonObject) => ({ type: 'content_block_delta', index, delta })
const blockStop = (index: number) => ({ type: 'content_block_stop', index })
const created = { type: 'response.created', response: { id: 'r', model: 'm', output: [] } }
const itemAdded = (type: string) => ({
  type: 'response.output_item.added',
  output_index: 0,
  item: { type, id: 'i' },
})
const itemDone = (type: string) => ({
  type: 'response.output_item.done',
  output_index: 0,
  item: { type, id: 'i' },
})
const choice = (delta: JsonObject, finish_reason: string | null = null) => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})

const MESSAGES = 'anthropic-messages'
const RESPONSES = 'openai-responses'
const CHAT = 'openai-chat-completions'

const STREAMS: Readonly<Record<string, Stream>> = {
  "the input of a server's tool on Messages": {
    from: MESSAGES,
    head: [
      messageStart,
      blockStart(0, { type: 'server_tool_use', id: 's', name: 'code_execution', input: {} }),
    ],
    piece: blockDelta(0, { type: 'input_json_delta', partial_json: TEXT }),
    rest: [blockStop(0)],
  },
  'a compaction on Messages': {
    from: MESSAGES,
    head: [messageStart, blockStart(0, { type: 'compaction', content: '' })],
    piece: blockDelta(0, { type: 'compaction_delta', content: TEXT }),
    rest: [blockStop(0)],
  },
  'the code of an interpreter on Responses': {
    from: RESPONSES,
    head: [created, itemAdded('code_interpreter_call')],
    piece: { type: 'response.code_interpreter_call_code.delta', output_index: 0, delta: TEXT },
    rest: [itemDone('code_interpreter_call')],
  },
  'the arguments of an MCP call on Responses': {
    from: RESPONSES,
    head: [created, itemAdded('mcp_call')],
    piece: { type: 'response.mcp_call_arguments.delta', output_index: 0, delta: TEXT },
    rest: [itemDone('mcp_call')],
  },
  'a command for the shell on Responses': {
    from: RESPONSES,
    head: [created, itemAdded('shell_call')],
    piece: { type: 'response.shell_call_command.delta', output_index: 0, command_index: 0, delta: TEXT },
    rest: [itemDone('shell_call')],
  },
  'a spoken answer on Responses': {
    from: RESPONSES,
    head: [created],
    piece: { type: 'response.audio.transcript.delta', delta: TEXT },
  },
  'a spoken answer on Chat': {
    from: CHAT,
    head: [choice({ role: 'assistant', content: null }), choice({ audio: { id: 'a', data: 'AAAA' } })],
    piece: choice({ audio: { transcript: TEXT } }),
    rest: [choice({}, 'stop')],
  },
  'the words of a spoken answer without its sound': {
    from: CHAT,
    head: [choice({ role: 'assistant', content: null })],
    piece: choice({ audio: { transcript: TEXT } }),
    rest: [choice({}, 'stop')],
  },
  'a text beside another on Messages': {
    from: MESSAGES,
    head: [
      messageStart,
      blockStart(0, { type: 'text', text: '' }),
      blockStart(1, { type: 'text', text: '' }),
    ],
    piece: blockDelta(1, { type: 'text_delta', text: TEXT }),
    rest: [blockStop(0), blockStop(1)],
  },
}

function pipelines({ from }: Pick<Stream, 'from'>): Pipeline[] {
  const codec = CODECS[from]
  const context = { vendor: 'example', newId: () => 'id' }
  const to = from === CHAT ? MESSAGES : CHAT
  return [
    new PassthroughPipeline({
      codec,
      decoder: codec.createStreamDecoder({ ...context, isPassed: true }),
      requestId: 'request',
      hidesUsage: false,
      readsAll: false,
      chunksOnly: false,
      framer: undefined,
    }),
    new HubPipeline({
      decoder: codec.createStreamDecoder(context),
      raiser: undefined,
      encoder: CODECS[to].createStreamEncoder(
        replyContext(to, { messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 }),
      ),
      framer: undefined,
      caller: CODECS[to],
      count: () => undefined,
    }),
  ]
}

test.each([
  ['converted, may be tried again on another channel', 1, 0],
  ['passed on, has reached its caller', 0, 1],
] as const)('what failed while no event told it, and is %s', async (_, which, outputs) => {
  const head = [created, itemAdded('code_interpreter_call')]
  const code = { type: 'response.code_interpreter_call_code.delta', output_index: 0, delta: TEXT }
  const failed = {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'down' } },
  }
  const pipeline = pipelines({ from: RESPONSES })[which]
  if (pipeline === undefined) throw new Error('there are two')
  const outlet = new Outlet({
    clock: systemClock,
    keepalive: new Uint8Array(),
    encodeError: () => new Uint8Array(),
    breakAfterError: false,
    tellsAtEnd: true,
  })
  outlet.beginAttempt()
  const upstream = fedStream()
  let told = 0
  const events = { onFirstOutput: () => void told++, onConclusion: () => undefined }
  const answer = new Response(outlet.readable).text()
  const failure = outlet.pipe(upstream.stream, pipeline, 60_000, events).then(
    () => undefined,
    (error: GatewayError) => error.kind,
  )
  for (const event of [...head, code, failed])
    upstream.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  expect(await failure).toBe(outputs === 0 ? 'upstream_error' : undefined)
  expect(told).toBe(outputs)
  if (outputs > 0) expect(await answer).toContain(TEXT)
})

describe.each(Object.entries(STREAMS))('%s', (_what, stream) => {
  test('counts as it comes, and once', () => {
    for (const pipeline of pipelines(stream)) {
      const { meter } = pipeline
      const push = (event: JsonObject) =>
        pipeline.push(Buffer.from(`event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`), () => {})
      for (const event of stream.head) push(event)
      expect(meter.estimatedOutput).toBe(0)
      for (let count = 1; count <= PIECES; count += 1) {
        push(stream.piece)
        expect(meter).toMatchObject({ hasWorked: true, estimatedOutput: (TOKENS / PIECES) * count })
      }
      for (const event of stream.rest ?? []) push(event)
      expect(meter.estimatedOutput).toBe(TOKENS)
    }
  })
})

test.each<[string, Pick<Stream, 'from' | 'head'>]>([
  [
    'audio that is null beside a role',
    { from: CHAT, head: [choice({ role: 'assistant', content: '', audio: null })] },
  ],
  [
    'audio without anything in it',
    { from: CHAT, head: [choice({ role: 'assistant' }), choice({ audio: {} })] },
  ],
  [
    'a word that is not there',
    { from: RESPONSES, head: [created, { type: 'response.audio.transcript.delta', delta: '' }] },
  ],
  [
    'code that is not there',
    { from: RESPONSES, head: [created, { type: 'response.code_interpreter_call_code.delta', delta: '' }] },
  ],
  [
    'input that is not there',
    {
      from: MESSAGES,
      head: [
        messageStart,
        blockStart(0, { type: 'server_tool_use', id: 's', name: 'code_execution', input: {} }),
        blockDelta(0, { type: 'input_json_delta', partial_json: '' }),
      ],
    },
  ],
])('%s is nothing that is paid for', (_what, stream) => {
  for (const pipeline of pipelines(stream)) {
    for (const event of stream.head)
      pipeline.push(Buffer.from(`event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`), () => {})
    expect(pipeline.meter.hasWorked).toBe(false)
  }
})
