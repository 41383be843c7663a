import { describe, expect, test } from 'bun:test'
import { type Random, randomOf } from '#tests/support/random.ts'
import { mutate } from '#tests/support/streams/fuzz.ts'
import { ENDS, HEADS, madeUpStream, RUNS, TEXTS } from '#tests/support/streams/made-up-stream.ts'
import { createRaiser, decodeContext, replyContext } from '#tests/transcripts/conversion.ts'
import { recordings } from '#tests/transcripts/recording.ts'
import { HubPipeline } from '@/exchange/relay/hub-pipeline.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/answer/json-array.ts'
import type { StreamDecoder } from '@/formats/plain/plain-text.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

/*
 * The fast path of text (formats/plain/plain-text.ts) against the general one: the same bytes and the same reading of the
 * meter, whatever comes and however it is cut into reads.
 */

const PAIRS = FORMATS.flatMap(from => FORMATS.filter(to => to !== from).map(to => [from, to] as const))

const STREAMS = 150

describe.each(PAIRS)('%s for a caller of %s', (from, to) => {
  test(`${STREAMS} made-up streams come out as they do the general way`, () => {
    for (let seed = 0; seed < STREAMS; seed += 1) {
      const random = randomOf(seed)
      const stream = madeUpStream(from, random)
      const framed = to === 'gemini-generate-content' && random(4) === 0
      const wire = random(2) === 0 ? { wire: THINKING[to] } : {}
      const isUnmetered = random(2) === 0
      expectSame({ from, to, stream, seed, framed, isUnmetered, ...wire }, random)
    }
  })

  test('an event a read, short and long, with nobody to ask what they said', () => {
    const length = (index: number) => (index % 97 === 5 ? 40 * index : index % 60)
    const texts = Array.from({ length: 1000 }, (_, n) => `word ${n} "é\n"${'.'.repeat(length(n))}`)
    const plain = texts.map((text, index) => Buffer.from(TEXTS[from](JSON.stringify(text), index)))
    const reads = [Buffer.from(HEADS[from].join('')), ...plain, Buffer.from(ENDS[from].join(''))]
    const given = { from, to, stream: Buffer.concat(reads), framed: false, isUnmetered: true }
    const sizes = reads.map(read => read.length)
    const { pushes, ...short } = run(given, 'short', sizes)
    const { pushes: all, ...general } = run(given, 'general', sizes)
    expect(short).toEqual(general)
    expect(pushes).toBeLessThan(all - 990)
  })

  test('a stream of plain text is parsed only where it begins', () => {
    const texts = Array.from({ length: 100 }, (_, index) => `word ${index} "quoted"\n`)
    const stream = Buffer.from(
      [...HEADS[from], ...texts.map((text, index) => TEXTS[from](JSON.stringify(text), index))].join(''),
    )
    const { pushes } = run({ from, to, stream, framed: false }, 'short', [stream.length])
    expect(pushes).toBeLessThanOrEqual(HEADS[from].length + 2)
  })
})

test.each(PAIRS)('%s for a caller of %s, hundreds of kilobytes at once', (from, to) => {
  const texts = Array.from(
    { length: 2000 },
    (_, index) => `word ${index} "quoted" ${'é'.repeat(index % 90)}\n`,
  )
  const plain = texts.map((text, index) => TEXTS[from](JSON.stringify(text), index))
  const stream = Buffer.from([...HEADS[from], ...plain, ...ENDS[from]].join(''))
  const sizes = [stream.length - 30_000, 30_000]
  const { pushes, ...short } = run({ from, to, stream, framed: false }, 'short', sizes)
  const { pushes: all, ...general } = run({ from, to, stream, framed: false }, 'general', sizes)
  expect(short).toEqual(general)
  expect(pushes).toBeLessThan(all / 100)
})

test('recordings, whole and mutated, come out as they do the general way', () => {
  for (const [index, { format: from, stream: recorded }] of recordings().entries()) {
    for (const to of FORMATS) {
      for (let round = 0; round < 3; round += 1) {
        const seed = index * 100 + round
        const random = randomOf(seed)
        const stream = round === 0 ? recorded : mutate(recorded, random)
        if (from !== to) expectSame({ from, to, stream, seed, framed: false }, random)
      }
    }
  }
}, 60_000)

test.each(PAIRS)('%s for a caller of %s, cut at every byte', (from, to) => {
  const stream = madeUpStream(from, randomOf(7)).subarray(0, 3000)
  const expected = run({ from, to, stream, framed: false }, 'general', [stream.length])
  for (let at = 1; at < stream.length; at += 1) {
    const cut = run({ from, to, stream, framed: false }, 'short', [at, stream.length - at])
    expect({ at, ...atEnd(cut) }).toEqual({ at, ...atEnd(expected) })
  }
})

function atEnd({ text, error, cut, readings }: ReturnType<typeof run>) {
  return { text, error, cut, reading: readings.at(-1) }
}

interface Case {
  from: Format
  to: Format
  stream: Buffer
  /** The caller reads Gemini's JSON array. */
  framed: boolean
  /** The caller's request, where it matters. */
  wire?: JsonObject
  /** The meter is read only at the end: what it asks for is told earlier than it would be. */
  isUnmetered?: boolean
}

function expectSame(given: Case & { seed: number }, random: Random): void {
  const sizes: number[] = []
  const largest = [1, 40, 700, 100_000][random(4)] ?? 1
  for (let rest = given.stream.length; rest > 0; rest -= sizes.at(-1) ?? rest) sizes.push(1 + random(largest))
  const { pushes, ...short } = run(given, 'short', sizes)
  const { pushes: all, ...general } = run(given, 'general', sizes)
  expect({ seed: given.seed, ...short }).toEqual({ seed: given.seed, ...general })
  expect(pushes).toBeLessThanOrEqual(all)
}

/** What comes out of reads of these sizes, what the meter says, and how many events were decoded. */
function run(
  { from, to, stream, framed, wire, isUnmetered }: Case,
  way: 'short' | 'general',
  sizes: readonly number[],
) {
  const decoder = CODECS[from].createStreamDecoder(decodeContext(from))
  let pushes = 0
  const counted: StreamDecoder = {
    plain: way === 'short' ? decoder.plain : undefined,
    push(event, emit) {
      pushes += 1
      decoder.push(event, emit)
    },
    end: emit => decoder.end(emit),
    servedTier: () => decoder.servedTier(),
  }
  const pipeline = new HubPipeline({
    decoder: counted,
    raiser: wire && createRaiser(from, to, wire),
    encoder: CODECS[to].createStreamEncoder(replyContext(to, wire ?? REQUESTS[to])),
    framer: framed ? createArrayFramer() : undefined,
    caller: CODECS[to],
    count: () => undefined,
  })
  const written: Uint8Array[] = []
  const readings: unknown[] = []
  let at = 0
  for (const size of sizes) {
    if (pipeline.meter.error !== undefined) break
    pipeline.push(stream.subarray(at, at + size), bytes => written.push(bytes))
    at += size
    if (isUnmetered !== true) readings.push(readingOf(pipeline))
  }
  if (pipeline.meter.error === undefined) pipeline.end(bytes => written.push(bytes))
  readings.push(readingOf(pipeline))
  const { error, cut } = pipeline.meter
  return { text: Buffer.concat(written).toString('utf8'), error: error?.message, cut, readings, pushes }
}

function readingOf({ meter: { output, finished, usage, estimatedOutput } }: HubPipeline) {
  return [output, finished, usage, estimatedOutput]
}

const REQUESTS: Record<Format, JsonObject> = {
  'openai-chat-completions': { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  'openai-responses': { model: 'm', input: 'Hello' },
  'anthropic-messages': { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'Hello' }] },
  'gemini-generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
}

/** Requests that want to see thoughts. */
const THINKING: Record<Format, JsonObject> = {
  'openai-chat-completions': { ...REQUESTS['openai-chat-completions'], reasoning_effort: 'high' },
  'openai-responses': {
    ...REQUESTS['openai-responses'],
    reasoning: { effort: 'high', summary: 'auto' },
  },
  'anthropic-messages': {
    ...REQUESTS['anthropic-messages'],
    max_tokens: 8000,
    thinking: { type: 'enabled', budget_tokens: 2000 },
  },
  'gemini-generate-content': {
    ...REQUESTS['gemini-generate-content'],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
}

/** Which of RUNS are thoughts, and which are calls of functions. */
const KINDS: Record<'thoughts' | 'calls', Record<Format, number[]>> = {
  thoughts: {
    'openai-chat-completions': [0, 1],
    'openai-responses': [2, 3],
    'anthropic-messages': [0],
    'gemini-generate-content': [0],
  },
  calls: {
    'openai-chat-completions': [2, 3],
    'openai-responses': [0],
    'anthropic-messages': [1],
    // Its calls come whole, and go so.
    'gemini-generate-content': [],
  },
}

/** Where one block is open at a time, the head's is to end before another begins. */
const TEXT_STOP = 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'

describe.each(['thoughts', 'calls'] as const)('%s are parsed only where they begin', kind => {
  const callers = FORMATS.filter(to => KINDS[kind][to].length > 0)
  const cases = FORMATS.flatMap(from =>
    callers
      .filter(to => to !== from)
      .flatMap(to => KINDS[kind][from].map(index => [from, to, index] as const)),
  )
  test.each(cases)('%s for a caller of %s, %d', (from, to, index) => {
    const block = RUNS[from][index]?.(9)
    if (block === undefined) throw new Error('no such run')
    // Input that does not begin as an object is held until its end for callers of Messages.
    const deltas = Array.from({ length: 100 }, (_, n) =>
      block.delta(JSON.stringify(n === 0 ? '{"steps":"' : `step ${n} "é"`), n),
    )
    const head = [...HEADS[from], ...(from === 'anthropic-messages' ? [TEXT_STOP] : [])]
    const events = [...head, ...block.before, ...deltas, ...block.after, ...ENDS[from]]
    const stream = Buffer.from(events.join(''))
    const given = { from, to, stream, framed: false, wire: THINKING[to] }
    const { pushes, ...short } = run(given, 'short', [stream.length])
    const { pushes: all, ...general } = run(given, 'general', [stream.length])
    expect(short).toEqual(general)
    expect(general.text).toContain('step 99')
    expect(pushes).toBeLessThanOrEqual(all - 95)
  })
})

/** A tool that every upstream is given as a function: a group has no place for free text elsewhere. */
const TOOLS = { tools: [{ type: 'namespace', name: 'files', tools: [{ type: 'custom', name: 'patch' }] }] }

describe('input of tools that came past the machines', () => {
  const from = 'openai-chat-completions'
  const call = (fields: string) =>
    `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,${fields}}]},"finish_reason":null}]}\n\n`
  const begin = (id: string, name: string) =>
    call(`"id":"${id}","type":"function","function":{"name":"${name}","arguments":""}`)
  const more = (input: string) => call(`"function":{"arguments":${JSON.stringify(input)}}`)
  const streamOf = (...events: string[]) => Buffer.from([...events, ...ENDS[from]].join(''))

  test.each(FORMATS.filter(to => to !== from))(
    'is known where the next call has the same index, to %s',
    to => {
      const pieces = ['{"path":', '"a', 'b', 'c', '"}']
      const stream = streamOf(begin('t1', 'read'), ...pieces.map(more), begin('t2', 'write'), more('{}'))
      const { pushes, ...short } = run({ from, to, stream, framed: false }, 'short', [stream.length])
      const { pushes: all, ...general } = run({ from, to, stream, framed: false }, 'general', [stream.length])
      expect(short).toEqual(general)
      expect(general.text).toContain('write')
      // Gemini's calls are written whole, at their end.
      if (to !== 'gemini-generate-content') expect(pushes).toBeLessThan(all)
    },
  )

  test('is raised where the tool was lowered', () => {
    const to = 'openai-responses'
    const pieces = ['{"input":"', 'first \\n', 'second', ' third', '"}']
    const stream = streamOf(begin('t1', 'files__patch'), ...pieces.map(more))
    const given: Case = { from, to, stream, framed: false, wire: { ...REQUESTS[to], ...TOOLS } }
    const short = run(given, 'short', [stream.length])
    expect(short).toEqual(run(given, 'general', [stream.length]))
    expect(short.text).toContain('"delta":"second"')
  })
})

describe("what is done to the answer in the upstream's stead", () => {
  const [from, to] = ['openai-responses', 'openai-chat-completions'] as const
  const texts = Array.from({ length: 50 }, (_, index) => `step ${index}, `)
  const events = [...HEADS[from], ...texts.map((text, index) => TEXTS[from](JSON.stringify(text), index))]
  const stream = Buffer.from([...events, ...ENDS[from]].join(''))

  test('a stop sequence is found across plain events', () => {
    const wire = { ...REQUESTS[to], stop: ['0, step 41'] }
    const short = run({ from, to, stream, framed: false, wire }, 'short', [stream.length])
    expect(short).toEqual(run({ from, to, stream, framed: false, wire }, 'general', [stream.length]))
    expect(short.text).toContain('step 39')
    expect(short.text).not.toContain('step 41')
  })

  test('tools that were lowered leave the fast path open', () => {
    const chat = 'openai-chat-completions'
    const text = Buffer.from(
      [...HEADS[chat], ...texts.map(said => TEXTS[chat](JSON.stringify(said), 0))].join(''),
    )
    const given: Case = {
      from: chat,
      to: from,
      stream: text,
      framed: false,
      wire: { ...REQUESTS[from], ...TOOLS },
    }
    const { pushes, ...short } = run(given, 'short', [text.length])
    const { pushes: all, ...general } = run(given, 'general', [text.length])
    expect(short).toEqual(general)
    expect(pushes).toBeLessThan(all / 5)
  })
})
