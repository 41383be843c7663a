import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { least, msOf } from '#tests/support/least.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { EventSplitter, eachEvent, endsEvent } from '@/sse/splitter.ts'

const MANY = 1 << 24

interface Split {
  runs: string[]
  events: string[]
  rest: string
}

function split(chunks: readonly (string | Uint8Array)[]): Split {
  const splitter = new EventSplitter(MANY)
  const runs: string[] = []
  const events: string[] = []
  for (const chunk of chunks) {
    splitter.push(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk, run => {
      runs.push(run.toString('latin1'))
      eachEvent(run, event => {
        events.push(event.toString('latin1'))
      })
    })
  }
  return { runs, events, rest: splitter.rest().toString('latin1') }
}

/** Line by line as the WHATWG grammar has it: the slow and plain definition of an event. */
function eventsOf(text: string): { events: string[]; rest: string } {
  const events: string[] = []
  let rest = ''
  for (const line of text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []) {
    rest += line
    if (/^[\r\n]/.test(line)) {
      events.push(rest)
      rest = ''
    }
  }
  return { events, rest }
}

const STREAMS: [string, string][] = [
  ['LF', 'event: a\ndata: {"x":1}\n\n: comment\n\ndata: 2\n: inside\ndata: 3\n\ndata: [DONE]\n\n'],
  ['CRLF', 'event: a\r\ndata: 1\r\n\r\n: comment\r\n\r\ndata: 2\r\n\r\n'],
  ['CR', 'event: a\rdata: 1\r\rdata: 2\r\rx'],
  ['mixed', 'data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\ndata: 4\n\rdata: 5\r\n\rx\n\n'],
  ['empty lines between events', '\n\ndata: 1\n\n\n\n\r\n\r\ndata: 2\n\n\n'],
  ['no end', 'data: 1\n\ndata: cut'],
]

test('a chunk comes out as it is, at once, exactly when nothing is held and an event ends where it does', () => {
  const bytes = fc
    .array(fc.constantFrom('a', '\n', '\r', '\n\n', '\r\n'), { maxLength: 6 })
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(bytes, bytes, (before, text) => {
      const splitter = new EventSplitter(MANY)
      splitter.push(Buffer.from(before), () => {})
      const isHeld = splitter.rest().length > 0
      const chunk = new TextEncoder().encode(text)
      const would = splitter.isBetween && endsEvent(chunk)
      const runs: string[] = []
      splitter.push(chunk, run => runs.push(run.toString()))
      const passed = !isHeld && runs.length === 1 && runs[0] === text && splitter.rest().length === 0
      expect(would).toBe(passed)
    }),
    { numRuns: 2000 },
  )
})

describe.each(STREAMS)('%s', (_, stream) => {
  test('in one chunk', () => {
    const { events, rest, runs } = split([stream])
    expect({ events, rest }).toEqual(eventsOf(stream))
    expect(runs).toHaveLength(1)
  })

  test('cut at every byte', () => {
    for (let at = 0; at <= stream.length; at += 1) {
      const { events, rest } = split([stream.slice(0, at), stream.slice(at)])
      expect({ at, events, rest }).toEqual({ at, ...eventsOf(stream) })
    }
  })

  test('byte by byte', () => {
    const { events, rest } = split([...stream])
    expect({ events, rest }).toEqual(eventsOf(stream))
  })
})

test('an event is passed on with the byte that ends it', () => {
  expect(split(['data: 1\n', '\n', 'data: 2\r\n\r', '\n'])).toMatchObject({
    runs: ['data: 1\n\n', 'data: 2\r\n\r\n'],
  })
  expect(split(['data: 1\n\n', '\n'])).toMatchObject({ runs: ['data: 1\n\n', '\n'], rest: '' })
})

test('a CR at the end of a chunk waits, for its LF belongs to it', () => {
  expect(split(['data: 1\r\n\r'])).toMatchObject({ runs: [], rest: 'data: 1\r\n\r' })
  expect(split(['data: 1\r\r', 'data: 2'])).toMatchObject({ runs: ['data: 1\r\r'], rest: 'data: 2' })
})

test('runs are views of the chunk, the whole chunk where it ends at a border', () => {
  const chunk = Buffer.from('data: 1\n\ndata: 2\n\n')
  const cut = Buffer.from('data: 3\n\ndata: 4')
  const runs: Buffer[] = []
  const splitter = new EventSplitter(MANY)
  for (const bytes of [chunk, cut]) splitter.push(bytes, run => runs.push(run))
  expect(runs[0]).toBe(chunk)
  expect(runs[1]?.buffer).toBe(cut.buffer)
  expect(runs[1]?.toString()).toBe('data: 3\n\n')
})

test('an event over several chunks is joined, the rest of the last chunk is not', () => {
  expect(split(['data: 1', '1\n', '\ndata: 2\n\ndata: 3\n\ndata:'])).toMatchObject({
    runs: ['data: 11\n\n', 'data: 2\n\ndata: 3\n\n'],
    rest: 'data:',
  })
})

test('a joined run keeps its bytes when the splitter goes on', () => {
  const splitter = new EventSplitter(MANY)
  const runs: Buffer[] = []
  for (const text of ['data: 1', '\n\n', 'data: 2', '\n\n'])
    splitter.push(Buffer.from(text), run => runs.push(run))
  expect(runs.map(String)).toEqual(['data: 1\n\n', 'data: 2\n\n'])
})

test('chunks that are no Buffer, and views into larger memory, are read as they are', () => {
  const memory = new TextEncoder().encode('xxdata: 1\n\nyy')
  expect(split([memory.subarray(2, 11)])).toEqual({
    runs: ['data: 1\n\n'],
    events: ['data: 1\n\n'],
    rest: '',
  })
})

test('an event of 2 MB in small reads and 10,000 one-byte reads cost linear time', async () => {
  const event = Buffer.from(`data: ${'x'.repeat(2_000_000)}\n\n`)
  const split = () => {
    const splitter = new EventSplitter(MANY)
    let joined = 0
    const count = (run: Buffer) => {
      joined += run.length
    }
    for (let at = 0; at < event.length; at += 100) splitter.push(event.subarray(at, at + 100), count)
    for (let at = 0; at < 10_000; at += 1) splitter.push(event.subarray(at, at + 1), count)
    expect(joined).toBe(event.length)
    expect(splitter.rest().length).toBe(10_000)
  }
  // Quadratic copying would move 20 GB.
  expect(await least(2000, () => msOf(split))).toBeLessThan(2000)
})

test('an event longer than the bound ends in an upstream error, a long run of short ones does not', () => {
  const splitter = new EventSplitter(32)
  splitter.push(Buffer.from('data: 1\n\n'.repeat(100)), () => {})
  splitter.push(Buffer.from('x'.repeat(32)), () => {})
  expect(() => splitter.push(Buffer.from('x'), () => {})).toThrow(GatewayError)
  expect(() => splitter.push(Buffer.from('x'), () => {})).toThrow(
    expect.objectContaining({ kind: 'upstream_error' }),
  )
})

describe('whatever the bytes and the cuts', () => {
  const bytes = fc.string({
    unit: fc.constantFrom('\n', '\n', '\r', '\r\n', 'x', ': c', 'data: é'),
    maxLength: 40,
  })
  const chunks = fc.array(
    bytes.map(text => Buffer.from(text)),
    { maxLength: 8 },
  )

  test('runs and rest are the input, and every run is whole events', () => {
    fc.assert(
      fc.property(chunks, pieces => {
        const all = Buffer.concat(pieces).toString('latin1')
        const { runs, events, rest } = split(pieces)
        expect(runs.join('') + rest).toBe(all)
        expect(events.join('')).toBe(runs.join(''))
        const expected = eventsOf(all)
        // Only a last CR, whose LF may still come, is held back.
        if (!all.endsWith('\r')) expect({ events, rest }).toEqual(expected)
        else expect(expected.events.slice(0, events.length)).toEqual(events)
      }),
      { numRuns: 2000 },
    )
  })
})
