import { describe, expect, test } from 'bun:test'
import { randomOf } from '#tests/support/random.ts'
import { mutate } from '#tests/support/streams/fuzz.ts'
import { ENDS, HEADS, madeUpStream, TEXTS } from '#tests/support/streams/made-up-stream.ts'
import { recordings } from '#tests/transcripts/recording.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Meter } from '@/exchange/billing/meter.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import type { StreamDecoder } from '@/formats/plain/plain-text.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { eachEvent } from '@/sse/splitter.ts'

/** The events of a stream, so many to a read. */
function reads(stream: Buffer, eventsPerRead: number): Uint8Array[] {
  const events: Buffer[] = []
  eachEvent(stream, event => events.push(event))
  const grouped: Uint8Array[] = []
  for (let at = 0; at < events.length; at += eventsPerRead) {
    // As sockets give them: bytes that are no Buffer.
    grouped.push(new Uint8Array(Buffer.concat(events.slice(at, at + eventsPerRead))))
  }
  return grouped
}

function decoderOf(format: Format): StreamDecoder {
  return CODECS[format].createStreamDecoder({ vendor: 'example', newId: () => 'id', isPassed: true })
}

function pipelineOf(format: Format, decoder = decoderOf(format), hides = false): PassthroughPipeline {
  return new PassthroughPipeline({
    codec: CODECS[format],
    decoder,
    requestId: 'request',
    hidesUsage: hides,
    readsAll: false,
    chunksOnly: hides,
    framer: undefined,
  })
}

function nothing(): undefined {}

/** What comes of reads, and how many events were decoded; `listens`: plain events may be listened to in place of that. */
function listen(format: Format, chunks: readonly Uint8Array[], listens: boolean) {
  const decoder = decoderOf(format)
  const { plain } = decoder
  const deaf = plain && {
    plainShape: nothing,
    plainNote: () => plain.plainNote(),
    skipUsage: nothing,
    skipUnread: (bytes: number) => plain.skipUnread?.(bytes),
  }
  let pushes = 0
  const pipeline = pipelineOf(format, {
    plain: listens ? plain : deaf,
    push(event, emit) {
      pushes += 1
      decoder.push(event, emit)
    },
    end: emit => decoder.end(emit),
    servedTier: () => decoder.servedTier(),
  })
  const written: Buffer[] = []
  const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes))
  const readings: ReturnType<typeof readingOf>[] = []
  for (const chunk of chunks) {
    if (pipeline.meter.error === undefined) pipeline.push(chunk, emit)
    readings.push(readingOf(pipeline.meter))
  }
  if (pipeline.meter.error === undefined) pipeline.end(emit)
  readings.push(readingOf(pipeline.meter))
  return { readings, written: Buffer.concat(written).toString('latin1'), pushes }
}

/** Passes reads on; `torn` keeps each from being taken as a whole, by giving its last byte on its own. */
function pass(format: Format, chunks: readonly Uint8Array[], torn: boolean, hides = false) {
  const pipeline = pipelineOf(format, decoderOf(format), hides)
  const written: Buffer[] = []
  const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes))
  const readings: ReturnType<typeof readingOf>[] = []
  for (const chunk of chunks) {
    if (torn) pipeline.push(chunk.subarray(0, -1), emit)
    pipeline.push(torn ? chunk.subarray(-1) : chunk, emit)
    readings.push(readingOf(pipeline.meter))
  }
  const passed = Buffer.concat(written).toString('latin1')
  pipeline.fail(new GatewayError('upstream_error', 'The upstream broke off'), emit)
  return { readings, passed, written: Buffer.concat(written).toString('latin1') }
}

function withoutEstimates({ readings, written }: Pick<ReturnType<typeof pass>, 'readings' | 'written'>) {
  return { readings: readings.map(reading => ({ ...reading, estimatedOutput: 0 })), written }
}

function readingOf({ usage, output, finished, error, estimatedOutput }: Meter) {
  return { usage, output, finished, error: error?.message, estimatedOutput }
}

describe('a read of whole events is passed on as if it had come in pieces', () => {
  for (const { format, name, stream } of recordings()) {
    test(`${format}/${name}, one event a read`, () => {
      const chunks = reads(stream, 1)
      expect(pass(format, chunks, false)).toEqual(pass(format, chunks, true))
    })
    // What is not read is estimated by the run, and a torn read is two of them.
    test.each([2, 5])(`${format}/${name}, %d events a read`, eventsPerRead => {
      const chunks = reads(stream, eventsPerRead)
      expect(withoutEstimates(pass(format, chunks, false))).toEqual(
        withoutEstimates(pass(format, chunks, true)),
      )
    })
  }
})

test.each(['data: [DONE]\n\n', 'data: [DONE] \r\n\r\n', 'data: [DONE]'])(
  'Gemini clients are not given %j, of which they die, though an upstream ends in it',
  end => {
    const [{ stream } = { stream: Buffer.alloc(0) }] = recordings('gemini-generate-content')
    for (const reads of [[stream, Buffer.from(end)], [Buffer.concat([stream, Buffer.from(end)])]]) {
      const written: Buffer[] = []
      const pipeline = pipelineOf('gemini-generate-content', undefined, true)
      for (const read of reads) pipeline.push(read, bytes => written.push(Buffer.from(bytes)))
      pipeline.end(bytes => written.push(Buffer.from(bytes)))
      expect(Buffer.concat(written).toString()).toBe(stream.toString())
      expect(pipeline.meter.error).toBeUndefined()
    }
  },
)

test.each([
  [': keepalive\n\n', ''],
  [':\r\n\r\n', ''],
  ['event: ping\n\n', ''],
  ['id: 7\nretry: 100\n\n', ''],
  ['data:\n\n', ''],
  ['data: \r\n\r\n', ''],
  ['event: message\ndata: {"candidates":[]}\n\n', 'data: {"candidates":[]}\n\n'],
  ['data: {"candidates":[]}\rid: 7\r\r', 'data: {"candidates":[]}\r\r'],
  ['data: {\nid\n: x\ndata: "candidates":[]}\n\n', 'data: {\ndata: "candidates":[]}\n\n'],
])('Gemini clients are given nothing of %j but its data, since they die of other lines', (odd, told) => {
  const [{ stream } = { stream: Buffer.alloc(0) }] = recordings('gemini-generate-content')
  const event = Buffer.from(odd)
  for (const reads of [
    [event, stream],
    [Buffer.concat([event, stream])],
    bytesOf(Buffer.concat([event, stream])),
  ]) {
    const written: Buffer[] = []
    const pipeline = pipelineOf('gemini-generate-content', undefined, true)
    for (const read of reads) pipeline.push(read, bytes => written.push(Buffer.from(bytes)))
    pipeline.end(bytes => written.push(Buffer.from(bytes)))
    expect(Buffer.concat(written).toString()).toBe(told + stream.toString())
    expect(pipeline.meter.error).toBeUndefined()
  }
})

test.each([
  ['openai-chat-completions', 'data: [DONE]\n\n'],
  ['openai-chat-completions', 'data: {"choices":[{"index":0,"delta":{"content":"more"}}]}\n\n'],
  ['openai-chat-completions', 'data: {"choices":[{"index":0,"delta":{"content":"more"}}]}'],
  ['openai-responses', 'data: [DONE]\n\n'],
  ['openai-responses', 'event: keepalive\ndata: {"type":"keepalive"}\n\n'],
  ['anthropic-messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
  ['anthropic-messages', 'data: [DONE]\n\n'],
] as const)('nothing follows the last event of %s: %j is left out behind it', (format, more) => {
  const { stream } = recordings(format).find(({ name }) => name === 'text') ?? { stream: Buffer.alloc(0) }
  const [extra, whole] = [Buffer.from(more), Buffer.concat([stream, Buffer.from(more)])]
  for (const reads of [[stream, extra, extra], [whole], bytesOf(whole)]) {
    const written: Buffer[] = []
    const pipeline = pipelineOf(format)
    for (const read of reads) pipeline.push(read, bytes => written.push(Buffer.from(bytes)))
    pipeline.end(bytes => written.push(Buffer.from(bytes)))
    expect(Buffer.concat(written).toString()).toBe(stream.toString())
    expect(pipeline.meter.error).toBeUndefined()
  }
})

test('what an event of Gemini is called is read before it is hidden', () => {
  const [{ stream } = { stream: Buffer.alloc(0) }] = recordings('gemini-generate-content')
  const written: Buffer[] = []
  const pipeline = pipelineOf('gemini-generate-content', undefined, true)
  const named = stream.toString().replaceAll('data: ', 'event: message\ndata: ')
  for (const read of [Buffer.from(named), Buffer.from('event: error\ndata: {"message":"busy"}\n\n')]) {
    pipeline.push(read, bytes => written.push(Buffer.from(bytes)))
  }
  expect(pipeline.meter.error?.message).toContain('busy')
  expect(Buffer.concat(written).toString()).toStartWith(stream.toString())
})

/** A read for each byte. */
function bytesOf(stream: Buffer): Buffer[] {
  return Array.from(stream, byte => Buffer.from([byte]))
}

/** What may stand in front of an event. */
const ODDITIES = [
  '\n',
  '\n\n',
  ': comment\n\n',
  'data: é\n\n',
  '\r\n',
  'data:{}\r\n\r\n',
  'id: 1\ndata: {}\n\n',
  'retry: 5\n\n',
]

describe('and so are streams with oddities between their events', () => {
  test.each(FORMATS)('%s', format => {
    const recorded = recordings().filter(recording => recording.format === format)
    for (let seed = 0; seed < 300; seed += 1) {
      const random = randomOf(seed)
      const { stream } = recorded[random(recorded.length)] ?? { stream: madeUpStream(format, random) }
      const events: Buffer[] = []
      eachEvent(random(2) === 0 ? stream : madeUpStream(format, random), event => events.push(event))
      const strewn = events.map(event =>
        random(4) > 0 ? event : Buffer.concat([Buffer.from(ODDITIES[random(ODDITIES.length)] ?? ''), event]),
      )
      const chunks: Uint8Array[] = []
      for (let at = 0, many = 0; at < strewn.length; at += many) {
        many = 1 + random(6)
        chunks.push(new Uint8Array(Buffer.concat(strewn.slice(at, at + many))))
      }
      const hides = random(2) === 0
      const [whole, torn] = [false, true].map(isTorn => {
        const { readings, passed } = pass(format, chunks, isTorn, hides)
        return { seed, passed, readings: readings.map(reading => ({ ...reading, estimatedOutput: 0 })) }
      })
      expect(whole).toEqual(torn)
    }
  })
})

test('a read that tells nothing is handed on without a copy', () => {
  const pipeline = pipelineOf('openai-chat-completions')
  const event = () =>
    new TextEncoder().encode(
      'data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n',
    )
  const written: Uint8Array[] = []
  pipeline.push(event(), bytes => written.push(bytes))
  const read = event()
  pipeline.push(read, bytes => written.push(bytes))
  expect(written[1]).toBe(read)
})

describe('a long read', () => {
  const chunk = (more: string) => `data: {"choices":[{"index":0,"delta":{},"finish_reason":null}]${more}}\n\n`
  const word = chunk('').replace('{}', '{"content":"word"}')
  const usage = chunk(',"usage":{"prompt_tokens":7,"completion_tokens":1}').replace(
    '"choices":[{',
    '"choices":[],"was":[{',
  )

  test('is handed on as it is where the caller gets all of it', () => {
    const read = new TextEncoder().encode(word.repeat(400) + usage)
    const written: Uint8Array[] = []
    const pipeline = pipelineOf('openai-chat-completions')
    pipeline.push(read, bytes => written.push(bytes))
    expect(written).toHaveLength(1)
    expect(written[0]).toBe(read)
    expect(pipeline.meter.usage?.inputUncached).toBe(7)
  })

  test('is cut only where an event is hidden', () => {
    const written: string[] = []
    const pipeline = pipelineOf('openai-chat-completions', undefined, true)
    const parts = [usage, word.repeat(300), usage, word, usage, usage, word.repeat(200)]
    pipeline.push(Buffer.from(parts.join('')), bytes => written.push(Buffer.from(bytes).toString()))
    expect(written).toEqual(parts.filter(part => part !== usage))
  })

  test('gives nothing of what stands behind the end, however much it is', () => {
    const written: string[] = []
    const pipeline = pipelineOf('openai-chat-completions')
    const push = (text: string) =>
      pipeline.push(Buffer.from(text), bytes => written.push(Buffer.from(bytes).toString()))
    push(`${word.repeat(20)}data: [DONE]\n\n${word.repeat(200)}`)
    push(word)
    expect(written.join('').split(word)).toHaveLength(21)
    expect(written.join('')).toStartWith(word.repeat(20))
  })

  test.each(FORMATS)('of %s comes to what its events one by one come to', format => {
    const last = (chunks: Uint8Array[], hides: boolean) => {
      const { passed, readings } = pass(format, chunks, false, hides)
      return { passed, reading: readings.at(-1) }
    }
    for (let seed = 0; seed < 60; seed += 1) {
      const random = randomOf(seed)
      const events: Buffer[] = []
      eachEvent(madeUpStream(format, random), event => {
        const oddity =
          random(20) === 0 ? Buffer.from(ODDITIES[random(ODDITIES.length)] ?? '') : Buffer.alloc(0)
        const times = random(4) === 0 && format !== 'openai-responses' ? random(100) : 1
        events.push(oddity, ...Array.from({ length: times }, () => event))
      })
      // Text that still comes behind the end.
      const stream = Buffer.concat(random(3) === 0 ? [...events, ...events] : events)
      const hides = random(2) === 0
      const one = last([stream], hides)
      const many = last(reads(stream, 1), hides)
      expect({ seed, passed: one.passed }).toEqual({ seed, passed: many.passed })
      const [estimate = 0, would = 0] = [one, many].map(({ reading }) => reading?.estimatedOutput)
      expect({ seed, ...one.reading, estimatedOutput: 0 }).toEqual({
        seed,
        ...many.reading,
        estimatedOutput: 0,
      })
      expect(estimate).toBeWithin(would * 0.9 - 3, would * 1.1 + 4)
    }
  })
})

test('a BOM is a part of the event that it stands in, but for one in front of the first', () => {
  const told = (before: string, at: number) => {
    const events = [
      `{"choices":[{"index":0,"delta":{"content":"x"}}]}`,
      `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}`,
    ]
    const pipeline = pipelineOf('openai-chat-completions')
    for (const [index, data] of events.entries()) {
      pipeline.push(Buffer.from(`${index === at ? before : ''}data: ${data}\n\n`), () => {})
    }
    return [pipeline.meter.output, pipeline.meter.usage?.inputUncached]
  }
  expect([told('', 0), told('\uFEFF', 0), told('\uFEFF', 1)]).toEqual([
    [true, 7],
    [true, 7],
    [true, undefined],
  ])
})

describe('padding is no text: a cut answer is estimated as it would be without it', () => {
  const WORDS = ['a', ' very', ' long', ' and', ' "obfuscation":"word"', ' é', ' unconstitutionally', '.']
  const EVENTS: Partial<Record<Format, (text: string, padding: string) => string>> = {
    'openai-chat-completions': (text, padding) =>
      `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":${text}},"finish_reason":null}]${padding}}`,
    'openai-responses': (text, padding) =>
      `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":${text},"logprobs":[]${padding}}`,
  }

  test.each([
    ['openai-chat-completions', 1],
    ['openai-chat-completions', 4],
    ['openai-responses', 1],
    ['openai-responses', 4],
  ] as const)('%s, %d events a read', (format, eventsPerRead) => {
    const estimated = (pad: (text: string, index: number) => string) => {
      const stream = Array.from({ length: 200 }, (_, index) => {
        const text = WORDS[index % WORDS.length] ?? ''
        const data = EVENTS[format]?.(JSON.stringify(text), pad(text, index))
        return format === 'openai-responses'
          ? `event: response.output_text.delta\ndata: ${data}\n\n`
          : `data: ${data}\n\n`
      })
      const chunks = reads(Buffer.from(stream.join('')), eventsPerRead)
      return pass(format, chunks, false).readings.at(-1)?.estimatedOutput ?? 0
    }
    const plain = estimated(() => '')
    expect(plain).toBeGreaterThan(200)
    // An event that is read counts without the escapes of its text.
    const alike = (tokens: number) => expect(tokens).toBeWithin(plain - 3, plain + 4)
    alike(estimated((_text, index) => `,"obfuscation":"${'x'.repeat(index % 60)}"`))
    alike(estimated((_text, index) => `,"obfuscation": "${'x'.repeat(60 - (index % 60))}"`))
    alike(estimated((_text, index) => (index < 54 ? ',"obfuscation":"xxxx"' : '')))
  })
})

describe('plain events that each tell a usage are listened to and not parsed', () => {
  const format = 'gemini-generate-content'

  test('the meter and the caller get the same, whatever comes', () => {
    for (let seed = 0; seed < 600; seed += 1) {
      const random = randomOf(seed)
      const chunks = reads(madeUpStream(format, random), 1 + random(6))
      const { pushes, ...heard } = listen(format, chunks, true)
      const { pushes: all, ...decoded } = listen(format, chunks, false)
      expect({ seed, ...heard }).toEqual({ seed, ...decoded })
      expect(pushes).toBeLessThanOrEqual(all)
    }
  })

  test('and so of recordings, whole and mutated, and of streams of the other formats', () => {
    const recorded = recordings().flatMap(({ format, stream }, index) => [
      { format, stream },
      { format, stream: mutate(stream, randomOf(index)) },
    ])
    const madeUp = FORMATS.flatMap(format =>
      Array.from({ length: 60 }, (_, seed) => ({ format, stream: madeUpStream(format, randomOf(seed)) })),
    )
    for (const { format, stream } of [...recorded, ...madeUp]) {
      const chunks = reads(stream, 3)
      const { pushes, ...heard } = listen(format, chunks, true)
      const { pushes: all, ...decoded } = listen(format, chunks, false)
      expect({ format, ...withoutEstimates(heard) }).toEqual({ format, ...withoutEstimates(decoded) })
      expect(pushes).toBeLessThanOrEqual(all)
    }
  })

  test('of a long answer only the first two events and the last are parsed', () => {
    const texts = Array.from({ length: 100 }, (_, index) => TEXTS[format](`"word ${index}\\n é"`, index))
    const stream = Buffer.from([...HEADS[format], ...texts, ...ENDS[format]].join(''))
    const { pushes, readings } = listen(format, reads(stream, 8), true)
    expect(pushes).toBe(3)
    expect(readings.at(5)?.usage?.outputText).toBe(47)
  })
})

describe('a Chat stream without a finish reason', () => {
  const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`
  const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] })
  const text = chunk({ content: 'Let me see.' })
  const calls = [
    call({ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }),
    call({ function: { arguments: '{}' } }),
  ]
  const cut = call({ function: { arguments: '{"x' } })
  const custom = [call({ id: 'call_1', type: 'custom', custom: { name: 'patch', input: '' } })]
  const legacy = [chunk({ function_call: { name: 'weather', arguments: '{}' } })]

  test.each([
    ['text alone', [text, text], 'stop'],
    ['a call alone', calls, 'tool_calls'],
    ['a call after text', [text, ...calls], 'tool_calls'],
    ['a custom call after text', [text, ...custom], 'tool_calls'],
    ['a legacy call after text', [text, ...legacy], 'tool_calls'],
    ['a call of which most went by unread', [...calls, ...Array(20).fill(cut), cut], 'tool_calls'],
  ])('is given one: of %s', (_, events, reason) => {
    const pipeline = pipelineOf('openai-chat-completions')
    const written: string[] = []
    const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
    for (const event of [...events, 'data: [DONE]\n\n']) pipeline.push(Buffer.from(event), emit)
    pipeline.end(emit)
    expect(written.slice(0, -1)).toEqual(events)
    expect(written.at(-1)).toContain(`"finish_reason":"${reason}"`)
    expect(written.at(-1)).toEndWith('data: [DONE]\n\n')
  })
})

describe('a message whose upstream leaves after the reason to stop', () => {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const stopped = [
    event('message_start', {
      message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
  ]
  const last = event('message_stop', {})

  test.each([
    ['is given its last event', stopped],
    ['gets no second one', [...stopped, last]],
    ['gets no second one where the first lacks its empty line', [...stopped, last.trimEnd()]],
  ])('%s', (_, events) => {
    const pipeline = pipelineOf('anthropic-messages')
    const written: string[] = []
    const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
    for (const one of events) pipeline.push(Buffer.from(one), emit)
    pipeline.end(emit)
    expect(written.join('')).toBe([...stopped, last].join(''))
    expect(pipeline.meter.error).toBeUndefined()
  })
})

test('a vendor that is overloaded in the middle of its answer is so to a caller of its own format', () => {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const pipeline = pipelineOf('anthropic-messages')
  const written: string[] = []
  const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
  for (const one of [
    event('message_start', {
      message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Once' } }),
    event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
  ]) {
    pipeline.push(Buffer.from(one), emit)
  }
  expect(written.at(-1)).toStartWith('event: error')
  expect(written.at(-1)).toContain('"type":"overloaded_error"')
})

test('a message that ends in the middle of a call, and does not say why, ends in an error', () => {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const begun = [
    event('message_start', {
      message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} },
    }),
    event('content_block_start', {
      index: 0,
      content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
    }),
    event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: '{"x' } }),
  ]
  const pipeline = pipelineOf('anthropic-messages')
  const written: string[] = []
  const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
  for (const one of [...begun, event('message_stop', {})]) pipeline.push(Buffer.from(one), emit)
  pipeline.end(emit)
  expect(written.slice(0, -1)).toEqual(begun)
  expect(written.at(-1)).toStartWith('event: error')
})

describe('an error of ours goes on with the numbers of a response that was cut', () => {
  const event = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`
  const tool = '{"parameters":{"properties":{"sequence_number":{"type":"integer"}}}}'
  const begun = [
    event('response.created', `"sequence_number":0,"response":{"id":"r","model":"m","tools":[${tool}]}`),
    event('response.output_text.delta', '"sequence_number":1,"output_index":0,"delta":"Hello"'),
  ]

  test.each<[string, string[], number]>([
    ['in the middle', begun, 2],
    ['behind its first event, which names a field so', begun.slice(0, 1), 1],
    ['behind a keepalive', [...begun, ': keepalive\n\n'], 2],
    ['behind an empty line', [...begun, '\n'], 2],
    ['behind an event without a number', [...begun, event('ping', '"n":1')], 2],
    ['that begins with a keepalive', [': keepalive\n\n', ...begun], 2],
    [
      'behind an event whose number stands far from its end',
      [...begun, event('response.output_text.done', `"sequence_number":2,"text":"${'long '.repeat(2000)}"`)],
      3,
    ],
  ])('%s', (_, events, next) => {
    for (const chunks of [events, [events.join('')], [...events.join('')]]) {
      const pipeline = pipelineOf('openai-responses')
      const written: string[] = []
      const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
      for (const chunk of chunks) pipeline.push(new Uint8Array(Buffer.from(chunk)), emit)
      pipeline.end(emit)
      const added = written.join('').slice(events.join('').length)
      expect([...added.matchAll(/"type":"([^"]+)","sequence_number":(\d+)/g)].map(([, ...of]) => of)).toEqual(
        [
          ['error', `${next}`],
          ['response.failed', `${next + 1}`],
        ],
      )
      expect(added).toContain('"id":"r"')
    }
  })
})

describe('a response that fails without a word of why, which the next event has, fails once', () => {
  const event = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`
  const begun = [
    event('response.created', '"sequence_number":0,"response":{"id":"r"}'),
    event('response.output_text.delta', '"sequence_number":1,"output_index":0,"delta":"Hello"'),
  ]
  const failed = event(
    'response.failed',
    '"sequence_number":2,"response":{"id":"r","status":"failed","error":null}',
  )
  const error = event(
    'error',
    '"sequence_number":3,"error":{"type":"invalid_request_error","message":"not allowed"}',
  )

  test.each([
    ['with the reason', [failed, error], 'not allowed'],
    ['with the reason in the same read', [failed + error], 'not allowed'],
    ['with the reason in an event that is not closed', [failed, error.trimEnd()], 'not allowed'],
    ['without one', [failed], 'The response was failed'],
    ['without one, in an event that is not closed', [failed.trimEnd()], 'The response was failed'],
  ])('%s', (_, last, message) => {
    const pipeline = pipelineOf('openai-responses')
    const written: string[] = []
    const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
    for (const one of [...begun, ...last]) pipeline.push(Buffer.from(one), emit)
    pipeline.end(emit)
    const text = written.join('')
    expect([...text.matchAll(/^event: (.+)$/gm)].map(([, name]) => name)).toEqual([
      'response.created',
      'response.output_text.delta',
      'error',
      'response.failed',
    ])
    expect(text.split(message)).toHaveLength(4)
    expect(pipeline.meter.error?.message).toContain(message)
  })
})

describe('a response whose upstream ends it in response.done ends in the event that clients wait for', () => {
  const event = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`
  const begun = [
    event('response.created', '"sequence_number":0,"response":{"id":"r"}'),
    event('response.output_text.delta', '"sequence_number":1,"output_index":0,"delta":"Hello"'),
  ]

  test.each([
    ['completed', 'response.completed'],
    ['incomplete', 'response.incomplete'],
  ])('%s: %s', (status, type) => {
    const fields = `"sequence_number":2,"response":{"id":"r","status":"${status}","output":[],"n":12345678901234567890}`
    const last = event('response.done', fields)
    for (const events of [[...begun, last], [...begun, last.trimEnd()], [[...begun, last].join('')]]) {
      const pipeline = pipelineOf('openai-responses')
      const written: string[] = []
      const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
      for (const one of events) pipeline.push(Buffer.from(one), emit)
      pipeline.end(emit)
      expect(written.join('')).toBe([...begun, event(type, fields)].join(''))
      expect(pipeline.meter.error).toBeUndefined()
    }
  })

  test('failed: an error, as after response.failed', () => {
    const pipeline = pipelineOf('openai-responses')
    const written: string[] = []
    const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
    const failed = '"response":{"id":"r","status":"failed","error":{"code":"server_error","message":"boom"}}'
    for (const one of [...begun, event('response.done', failed)]) pipeline.push(Buffer.from(one), emit)
    pipeline.end(emit)
    expect(pipeline.meter.error?.message).toContain('boom')
    expect(written.join('')).toContain('event: response.failed')
    expect(written.join('')).not.toContain('response.completed')
  })
})

describe('a response that ends without the output it streamed gets it, as clients take it from there', () => {
  const event = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`
  const item = (place: number) =>
    `{"id":"m${place}","type":"message","role":"assistant","n":1.0,"content":[]}`
  const begun = [
    event('response.created', '"sequence_number":0,"response":{"id":"r"}'),
    event('response.output_text.delta', '"sequence_number":1,"output_index":0,"delta":"Hello"'),
    event('response.output_item.done', `"sequence_number":2,"output_index":1,"item":${item(1)}`),
    event('response.output_item.done', `"sequence_number":3,"output_index":0,"item":${item(0)}`),
  ]
  const passed = (events: readonly string[]) => {
    const pipeline = pipelineOf('openai-responses')
    const written: string[] = []
    const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString())
    for (const one of events) pipeline.push(Buffer.from(one), emit)
    pipeline.end(emit)
    expect(pipeline.meter.error).toBeUndefined()
    return written.join('')
  }
  const fields = (output: string) => `"sequence_number":4,"response":{"id":"r","n":1e400${output}}`
  const whole = fields(`,"output":[${item(0)},${item(1)}]`)

  test.each([
    ['response.completed', 'response.completed'],
    ['response.incomplete', 'response.incomplete'],
    ['response.done', 'response.completed'],
  ])('%s', (last, type) => {
    const expected = [...begun, event(type, whole)].join('')
    expect(passed([...begun, event(last, fields(',"output":[]'))])).toBe(expected)
    expect(passed([[...begun, event(last, fields(''))].join('')])).toBe(expected)
    expect(
      passed([...begun, event(last, fields('').replace('"response":', '\ndata: "response":'))]),
    ).toContain('[{"id":"m0"')
  })

  test('an output that is there, and one of an answer without items, stay as they are', () => {
    for (const events of [
      [...begun, event('response.completed', fields(`,"output":[${item(1)}]`))],
      [...begun.slice(0, 2), event('response.completed', fields(',"output":[]'))],
    ]) {
      expect(passed(events)).toBe(events.join(''))
    }
  })
})

describe('what was delivered of an answer that is cut is counted by its text, read or not', () => {
  const words = Array.from({ length: 100 }, (_, index) => `word${'.'.repeat(index % 7)} `)
  const bytes = words.join('').length
  const messages = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, index: 0, ...fields })}\n\n`
  const chat = (delta: object) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`

  const plain = FORMATS.map(
    format =>
      [
        format,
        [...HEADS[format], ...words.map((word, index) => TEXTS[format](JSON.stringify(word), index))],
      ] as const,
  )
  const thoughts = [
    [
      'openai-chat-completions',
      [
        chat({ role: 'assistant', content: '' }),
        ...words.slice(0, 50).map(word => chat({ reasoning_content: word })),
        ...words.slice(50).map(word => chat({ content: word })),
      ],
    ],
    [
      'anthropic-messages',
      [
        HEADS['anthropic-messages'][0] ?? '',
        messages('content_block_start', { content_block: { type: 'thinking', thinking: '' } }),
        ...words
          .slice(0, 50)
          .map(thinking => messages('content_block_delta', { delta: { type: 'thinking_delta', thinking } })),
        messages('content_block_stop', {}),
        messages('content_block_start', { content_block: { type: 'text', text: '' } }),
        ...words
          .slice(50)
          .map(text => messages('content_block_delta', { delta: { type: 'text_delta', text } })),
      ],
    ],
  ] as const

  test.each([
    ...plain.map(([format, events]) => [format, 'text', events] as const),
    ...thoughts.map(([format, events]) => [format, 'thoughts and text', events] as const),
  ])('%s: %s', (format, _, events) => {
    for (const eventsPerRead of [1, 8, 1000]) {
      const { readings } = pass(format, reads(Buffer.from(events.join('')), eventsPerRead), false)
      const estimated = readings.at(-1)?.estimatedOutput ?? 0
      // Events that number themselves grow by a digit or two.
      expect(estimated / (bytes / 4)).toBeWithin(0.95, 1.25)
    }
  })

  const responses = (type: string, fields: object) =>
    `event: response.${type}\ndata: ${JSON.stringify({ type: `response.${type}`, output_index: 0, ...fields })}\n\n`
  const whole = words.join('')
  const part = { type: 'output_text', text: whole, annotations: [] }
  const call = { type: 'function_call', id: 'i', call_id: 'c', name: 'f' }

  test.each([
    [
      'a text',
      { type: 'message', id: 'i', role: 'assistant', content: [] },
      words.map(delta => responses('output_text.delta', { content_index: 0, delta })),
      responses('output_text.done', { content_index: 0, text: whole }),
      { type: 'message', id: 'i', role: 'assistant', content: [part] },
    ],
    [
      'thoughts',
      { type: 'reasoning', id: 'i', summary: [] },
      words.map(delta => responses('reasoning_summary_text.delta', { summary_index: 0, delta })),
      responses('reasoning_summary_text.done', { summary_index: 0, text: whole }),
      { type: 'reasoning', id: 'i', summary: [{ type: 'summary_text', text: whole }] },
    ],
    [
      'the input of a call',
      { ...call, arguments: '' },
      words.map(delta => responses('function_call_arguments.delta', { item_id: 'i', delta })),
      responses('function_call_arguments.done', { item_id: 'i', arguments: whole }),
      { ...call, arguments: whole },
    ],
  ])('and once, where the answer says it again at its end: %s', (_, begun, deltas, done, ended) => {
    const events = [
      responses('created', { response: { id: 'r', output: [] } }),
      responses('output_item.added', { item: begun }),
      ...deltas,
      done,
      responses('output_item.done', { item: ended }),
      responses('completed', { response: { id: 'r', status: 'completed', output: [ended] } }),
    ]
    for (const eventsPerRead of [1, 8, 1000]) {
      const { readings } = pass('openai-responses', reads(Buffer.from(events.join('')), eventsPerRead), false)
      expect(readings.at(-1)).toMatchObject({ finished: true, usage: undefined })
      expect((readings.at(-1)?.estimatedOutput ?? 0) / (bytes / 4)).toBeWithin(0.95, 1.25)
    }
  })

  test.each([
    ['in ASCII', 'some words, ', {}],
    ['in Chinese', '文字と言葉', {}],
    ['that JSON escapes', '{"a":"\\n"},', {}],
    ['beyond the first plane', '😀😁', {}],
    ['in events that all may tell an error', 'some words, ', { error: null }],
  ])('and what its end alone says of a text is counted as well: %s', (_, piece, beside) => {
    const pieces = Array.from({ length: 400 }, (_, at) => piece.repeat(1 + (at % 3)))
    const said = pieces.join('')
    for (const more of ['', said, said.repeat(3)]) {
      const item = { type: 'message', id: 'i', role: 'assistant', content: [] }
      const ended = { ...item, content: [{ type: 'output_text', text: said + more, annotations: [] }] }
      const events = [
        responses('created', { response: { id: 'r', output: [] } }),
        responses('output_item.added', { item }),
        ...pieces.map(delta => responses('output_text.delta', { content_index: 0, delta, ...beside })),
        responses('output_text.done', { content_index: 0, text: said + more }),
        responses('output_item.done', { item: ended }),
        responses('completed', { response: { id: 'r', status: 'completed', output: [ended] } }),
      ]
      const json = Buffer.byteLength(JSON.stringify(said + more)) - 2
      const least = Buffer.byteLength(said + more) / json
      for (const eventsPerRead of [1, 8, 1000]) {
        const { readings } = pass(
          'openai-responses',
          reads(Buffer.from(events.join('')), eventsPerRead),
          false,
        )
        // What was read is counted as text, and what was not as JSON.
        expect((readings.at(-1)?.estimatedOutput ?? 0) / (json / 4)).toBeWithin(least * 0.97, 1.03)
      }
    }
  })

  // They begin as texts do, and stand among them.
  test.each([
    [
      'an image',
      'openai-chat-completions',
      chat({ content: '', images: [{ image_url: { url: 'A'.repeat(1e6) } }] }),
    ],
    [
      'sources',
      'openai-chat-completions',
      chat({ annotations: [{ type: 'url_citation', url_citation: { url: `https://${'a'.repeat(90)}` } }] }),
    ],
    [
      'sealed thoughts',
      'openai-chat-completions',
      chat({ content: '', reasoning_details: [{ type: 'reasoning.encrypted', data: 'A'.repeat(2000) }] }),
    ],
    [
      'a signature',
      'anthropic-messages',
      messages('content_block_delta', { delta: { type: 'signature_delta', signature: 'A'.repeat(2000) } }),
    ],
  ] as const)('and not by %s', (_, format, other) => {
    const texts = {
      'openai-chat-completions': words.map(content => chat({ content })),
      'anthropic-messages': words.map(text =>
        messages('content_block_delta', { delta: { type: 'text_delta', text } }),
      ),
    }
    const events = [...HEADS[format], ...texts[format]]
    const mixed = events.flatMap((event, index) =>
      index > 10 && index % 10 === 0 ? [event, other] : [event],
    )
    expect(mixed.length).toBeGreaterThan(events.length + 5)
    for (const eventsPerRead of [1, 8, 1000]) {
      const { readings } = pass(format, reads(Buffer.from(mixed.join('')), eventsPerRead), false)
      const estimated = readings.at(-1)?.estimatedOutput ?? 0
      expect(estimated / (bytes / 4)).toBeWithin(0.95, 1.25)
    }
  })

  // Together's ids of tokens, llama.cpp's times: with a text of a token each, a few bytes more are as much again.
  test.each([
    ['ids', (index: number) => ({ token_id: 7 ** (1 + (index % 6)) })],
    [
      'times',
      (index: number) => ({
        timings: { predicted_n: index, predicted_ms: Math.round(index * 12_345) / 1000 },
      }),
    ],
    ['what comes later', (index: number) => (index < 3 ? {} : { timings: { predicted_n: 1 } })],
  ])('and not by what surrounds it, where that grows: %s', (_, more) => {
    const said = Array.from({ length: 4 }, () => words).flat()
    const events = said.map(
      (content, index) =>
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }], ...more(index) })}\n\n`,
    )
    for (const eventsPerRead of [1, 8]) {
      const { readings } = pass(
        'openai-chat-completions',
        reads(Buffer.from(events.join('')), eventsPerRead),
        false,
      )
      const estimated = readings.at(-1)?.estimatedOutput ?? 0
      expect(estimated / bytes).toBeWithin(0.85, 1.25)
    }
  })
})
