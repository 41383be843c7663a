import { describe, expect, test } from 'bun:test'
import { decodeContext, replyContext } from '#tests/transcripts/conversion.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import type { Preparation } from '@/exchange/attempt/preparation.ts'
import { AnswerPipeline } from '@/exchange/relay/answer-pipeline.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

const CHAT = {
  model: 'm',
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: 'x' }],
}
const GEMINI = { contents: [{ parts: [{ text: 'x' }] }] }

/** For an answer in this format, to a caller of the same or of Chat. */
function pipelineTo(surface: 'chat' | 'gemini', format: Format, json: JsonObject): AnswerPipeline {
  const bytes = Buffer.from(JSON.stringify(json))
  const prompt = new Prompt({
    surface,
    body: { bytes, json },
    model: 'm',
    stream: true,
    framing: 'sse',
    headers: new Headers(),
  })
  const preparation: Preparation = {
    requestId: 'request',
    call: { kind: 'generate', model: 'm', stream: true },
    body: bytes,
    headers: {},
    losses: [],
    askedTier: undefined,
    asksForSummary: false,
    codec: CODECS[format],
    decodeContext: decodeContext(format),
    conversion:
      prompt.format === format ? undefined : { caller: CODECS[prompt.format], createRaiser: undefined },
    reply: () => replyContext(prompt.format, { ...json }),
  }
  return new AnswerPipeline(prompt, preparation, () => undefined)
}

/** A stream in this format, for a caller of the same or of Chat. */
function answerTo(
  surface: 'chat' | 'gemini',
  format: Format,
  reads: readonly Uint8Array[],
  json: JsonObject = surface === 'chat' ? CHAT : GEMINI,
) {
  const pipeline = pipelineTo(surface, format, json)
  const written: Uint8Array[] = []
  const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes))
  for (const read of reads) pipeline.push(read, emit)
  pipeline.end(emit)
  return { written: Buffer.concat(written).toString(), meter: pipeline.meter }
}

const BOM = Buffer.from('\ufeff')
const STREAM = Buffer.from(
  `${[
    { choices: [{ index: 0, delta: { role: 'assistant', content: 'first' }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ]
    .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('')}data: [DONE]\n\n`,
)
const WHOLE = Buffer.from(
  '{"choices":[{"index":0,"message":{"role":"assistant","content":"first"},"finish_reason":"stop"}]}',
)

describe.each(['chat', 'gemini'] as const)('for a caller of %s', surface => {
  test.each([
    ['in a read of its own', [BOM]],
    ['in two reads', [BOM.subarray(0, 1), BOM.subarray(1)]],
    ['byte by byte', [BOM.subarray(0, 1), BOM.subarray(1, 2), BOM.subarray(2)]],
    ['torn, its end with the first event', [BOM.subarray(0, 2)]],
  ])('a BOM %s costs nothing of the answer and is no part of it', (_name, reads) => {
    const torn = BOM.subarray(Buffer.concat(reads).length)
    for (const body of [STREAM, WHOLE]) {
      const { written, meter } = answerTo(surface, 'openai-chat-completions', [
        ...reads,
        Buffer.concat([torn, body]),
      ])
      expect(written).toContain('firs') // Gemini's writer keeps the last letter for the end
      expect(written).not.toContain('\ufffd')
      expect(written).not.toContain('\ufeff')
      expect(meter).toMatchObject({ finished: true, error: undefined })
    }
  })
})

test.each([
  ['chat', CHAT],
  ['gemini', GEMINI],
] as const)('an answer that fails before its first byte is an error in the words of %s', (surface, json) => {
  const pipeline = pipelineTo(surface, 'openai-chat-completions', json)
  const written: Uint8Array[] = []
  pipeline.fail(new GatewayError('upstream_timeout', 'The upstream was silent'), bytes => written.push(bytes))
  expect(Buffer.concat(written).toString()).toContain('"message":"The upstream was silent')
})

describe('an array of answers in place of events', () => {
  const part = (part: string, more = '') =>
    `{"candidates":[{"content":{"role":"model","parts":[${part}]}${more}}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}`
  const items = [
    part('{"text":"hé"}'),
    part('{"functionCall":{"name":"f","args":{"n":12345678901234567890,"m":1.0}}}', ',"finishReason":"STOP"'),
  ]
  const array = Buffer.from(`[${items.join('\n,\r\n')}\n]`)

  test.each([array.length, 1, 7])('is told as events, numbers to the last digit, in reads of %i', size => {
    const reads = Array.from({ length: Math.ceil(array.length / size) }, (_, at) =>
      array.subarray(at * size, (at + 1) * size),
    )
    const { written, meter } = answerTo('chat', 'gemini-generate-content', reads)
    const chunks = written
      .split('\n\n')
      .filter(line => line.startsWith('data: {'))
      .map(line => JSON.parse(line.slice('data: '.length)))
    const deltas = chunks.flatMap(chunk => chunk.choices.map((choice: JsonObject) => choice['delta']))
    expect(deltas.map(delta => delta.content ?? '').join('')).toBe('hé')
    const calls = deltas.flatMap(delta => delta.tool_calls ?? [])
    expect(calls.map(call => call.function.arguments).join('')).toBe('{"n":12345678901234567890,"m":1.0}')
    expect(written).toEndWith('data: [DONE]\n\n')
    expect(meter).toMatchObject({ finished: true, error: undefined })
    expect(meter.usage).toMatchObject({ inputUncached: 3, outputText: 2 })
  })

  test('is cut where its last one is missing, and is no answer where it is no JSON', () => {
    const cut = answerTo('chat', 'gemini-generate-content', [Buffer.from(`[${items[0]}]`)])
    expect(cut.meter).toMatchObject({ finished: false, cut: true })
    expect(cut.written).not.toContain('[DONE]')
    const torn = answerTo('chat', 'gemini-generate-content', [array.subarray(0, -4)])
    expect(torn.meter).toMatchObject({ finished: false })
    expect(torn.meter.error?.kind).toBe('upstream_error')
  })
})

test.each([
  ['lines end in CR', '\r\r'],
  ['nothing ends it', ''],
])('an error in an array that ends the stream is that error: %s', (_name, end) => {
  const error = 'data: [{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]'
  const { meter } = answerTo('gemini', 'gemini-generate-content', [Buffer.from(error + end)])
  expect(meter.error?.message).toContain('quota')
})

test.each(['data:   [DONE]\n\n', 'data: [DONE]  \r\n\r\n', 'data:  [DONE] '])(
  'the end of Chat that has spaces around it (%j) reaches a caller of Chat without them',
  end => {
    const chunk = 'data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":"stop"}]}\n\n'
    for (const reads of [[chunk, end], [chunk + end]]) {
      const { written, meter } = answerTo(
        'chat',
        'openai-chat-completions',
        reads.map(read => Buffer.from(read)),
      )
      expect(written).toBe(`${chunk}data: [DONE]\n\n`)
      expect(meter).toMatchObject({ finished: true, error: undefined })
    }
  },
)

describe('what has no end is not kept without one', () => {
  const megabyte = Buffer.alloc(1024 * 1024, 'x')

  test.each(['chat', 'gemini'] as const)('an event, for a caller of %s', surface => {
    const reads = [Buffer.from('data: {"choices":[{"delta":{"content":"'), ...Array(65).fill(megabyte)]
    expect(() => answerTo(surface, 'openai-chat-completions', reads)).toThrow('an event that is too long')
  })

  test('an answer that comes whole where a stream was asked for', () => {
    const reads = [Buffer.from('{"choices":[{"message":{"content":"'), ...Array(257).fill(megabyte)]
    expect(() => answerTo('chat', 'openai-chat-completions', reads)).toThrow(
      "The upstream's answer is larger",
    )
  })

  test('events add up to nothing', () => {
    const event = Buffer.from(
      `data: ${JSON.stringify({ choices: [], padding: 'x'.repeat(1024 * 1024) })}\r\n\r\n`,
    )
    const { meter } = answerTo('gemini', 'openai-chat-completions', [...Array(65).fill(event), STREAM])
    expect(meter).toMatchObject({ finished: true, error: undefined })
  })
})

test.each([1, 5])(
  'of several Chat answers one that begins late is given an end, too, in reads of %i',
  size => {
    const chunk = (index: number, finish: string | null = null) =>
      `data: ${JSON.stringify({
        id: 'chatcmpl-of-forty-characters-and-some-more',
        object: 'chat.completion.chunk',
        choices: [{ index, delta: finish === null ? { content: 'word' } : {}, finish_reason: finish }],
      })}\n\n`
    const events = [chunk(0), chunk(0), chunk(0), chunk(1), chunk(1), chunk(0, 'stop')]
    const reads = Array.from({ length: Math.ceil(events.length / size) }, (_, at) =>
      Buffer.from(events.slice(at * size, (at + 1) * size).join('')),
    )
    const { written } = answerTo(
      'chat',
      'openai-chat-completions',
      [...reads, Buffer.from('data: [DONE]\n\n')],
      {
        ...CHAT,
        n: 2,
      },
    )
    expect(written.startsWith(events.join(''))).toBe(true)
    const added = written.slice(events.join('').length)
    expect(added).toContain('"choices":[{"index":1,"delta":{},"logprobs":null,"finish_reason":"stop"}]')
    expect(added).toEndWith('data: [DONE]\n\n')
  },
)
