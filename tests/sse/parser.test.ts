import { describe, expect, test } from 'bun:test'
import { randomOf } from '#tests/support/random.ts'
import { runMachine } from '@/generation/machine.ts'
import { formatEvent, type SseEvent } from '@/sse/event.ts'
import { createSseParser, endOfEvent, readEvent } from '@/sse/parser.ts'

function parse(...chunks: (string | Uint8Array)[]): SseEvent[] {
  const bytes = chunks.map(chunk => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk))
  return runMachine(createSseParser(), bytes)
}

function dataOf(...chunks: (string | Uint8Array)[]): string[] {
  return parse(...chunks).map(({ data }) => data)
}

describe('edge 1: a character of several bytes is whole wherever the read ends', () => {
  test.each(['é', '世', '😀', '👋🏽', 'é世😀'])('%s', text => {
    const bytes = Buffer.from(`data: {"text":"${text}"}\n\n`)
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(dataOf(bytes.subarray(0, at), bytes.subarray(at))).toEqual([`{"text":"${text}"}`])
    }
  })
})

describe('edge 2: line ends', () => {
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('%s ends a line, wherever the read ends', (_name, end) => {
    const bytes = Buffer.from(['event: a', 'data: 1', '', 'data: 2', '', ''].join(end))
    const expected = [
      { event: 'a', data: '1' },
      { event: undefined, data: '2' },
    ]
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(parse(bytes.subarray(0, at), bytes.subarray(at))).toEqual(expected)
    }
    expect(parse(...Array.from(bytes, byte => Uint8Array.of(byte)))).toEqual(expected)
  })

  test('a CR at the end of one read and the LF of the next are one line end', () => {
    expect(dataOf('data: 1\r', '\ndata: 2\r', '\n\r', '\ndata: 3\r\n\r\n')).toEqual(['1\n2', '3'])
  })
})

test('edge 3: comments between and inside of events say nothing', () => {
  expect(dataOf(': hello\n\ndata: 1\n: OPENROUTER PROCESSING\ndata: 2\n\n:\n\n:x\ndata: 3\n\n')).toEqual([
    '1\n2',
    '3',
  ])
})

test('edge 4: several data lines of an event are joined by newlines', () => {
  expect(dataOf('data: {"a":\ndata: 1,\ndata:\ndata: "b":2}\n\n')).toEqual(['{"a":\n1,\n\n"b":2}'])
})

test('edge 5: of the spaces after data: one is no data', () => {
  expect(dataOf('data:1\n\ndata: 2\n\ndata:  3\n\n')).toEqual(['1', '2', ' 3'])
})

test('edge 6: a last event without its empty line is an event', () => {
  expect(dataOf('data: 1\n\ndata: {"a":2}')).toEqual(['1', '{"a":2}'])
  expect(dataOf('data: 1\n\ndata: {"a":2}\n')).toEqual(['1', '{"a":2}'])
  expect(dataOf('data: 1\n\nevent: end')).toEqual(['1'])
})

test('edge 7: a BOM at the start is no part of the first line', () => {
  const bytes = Buffer.from('\ufeffdata: 1\n\n')
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(dataOf(bytes.subarray(0, at), bytes.subarray(at))).toEqual(['1'])
  }
})

test('edge 8: U+2028, U+2029 and U+0085 are characters like any other', () => {
  const data = '{"text":"a\u2028b\u2029c\u0085d\u000be\u000cf"}'
  expect(dataOf(`data: ${data}\n\n`)).toEqual([data])
})

describe('edge 9: size', () => {
  test('an event of more than 1 MiB', () => {
    const image = 'A'.repeat(3 * 1024 * 1024)
    const bytes = Buffer.from(`data: {"b64":"${image}"}\n\ndata: 2\n\n`)
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += 65_536) chunks.push(bytes.subarray(at, at + 65_536))
    expect(dataOf(...chunks)).toEqual([`{"b64":"${image}"}`, '2'])
  })

  test('ten thousand reads of a byte', () => {
    const events = Array.from({ length: 700 }, (_, index) => formatEvent(undefined, `{"n":${index}}`))
    const bytes = Buffer.from(events.join(''))
    expect(bytes.length).toBeGreaterThan(10_000)
    expect(dataOf(...Array.from(bytes, byte => Uint8Array.of(byte)))).toHaveLength(700)
  })
})

test('edge 10: id, retry and unknown fields say nothing, and an event without data is none', () => {
  expect(
    parse('id: 7\nretry: 1000\nodd: x\ndata\nevent: a\ndata: 1\n\nevent: b\n\nid: 8\n\ndata: 2\n\n'),
  ).toEqual([
    { event: 'a', data: '\n1' },
    { event: undefined, data: '2' },
  ])
})

describe('the end of an event is found without parsing it', () => {
  test.each([
    ['LF', 'data: 1\n\ndata: 2\n\n', 9],
    ['CRLF', 'data: 1\r\n\r\ndata: 2', 11],
    ['both', 'data: 1\n\r\ndata: 2', 10],
    ['an empty line on its own', '\n\ndata: 1', 2],
    ['a line that has not ended', 'event: a\ndata: 1\n', -1],
    ['half a CRLF', 'data: 1\r\n\r', -1],
    ['CR alone, which the parser knows better', 'data: 1\r\rdata: 2', -1],
  ])('%s', (_name, text, end) => {
    expect(endOfEvent(Buffer.from(text), 0)).toBe(end)
    if (end >= 0) expect(dataOf(text.slice(0, end))).toEqual(text.startsWith('data') ? ['1'] : [])
  })
})

describe('an event read by itself', () => {
  test.each([
    ['data: {"a":1}\n\n', { event: undefined, data: '{"a":1}' }],
    ['event: message_start\ndata: {}\n\n', { event: 'message_start', data: '{}' }],
    ['data: [DONE]\n\n', { event: undefined, data: '[DONE]' }],
    ['data:  two spaces\n\n', { event: undefined, data: ' two spaces' }],
  ])('%j is read without a parser', (text, event) => {
    expect(readEvent(text)).toEqual(event)
  })

  test.each(['data: 1\n2', 'data: 1\n', 'data: 1', 'event: a\n\n', 'data: \n\n', 'data: 1\ndata: 2\n\n'])(
    '%j is left to a parser',
    text => expect(readEvent(text)).toBeUndefined(),
  )

  test('whatever it is, it says what a parser says, or nothing', () => {
    const pieces = [
      'data: ',
      'data:',
      'event: ',
      'event:',
      ' ',
      'x',
      ':',
      'é',
      '\n',
      '\n\n',
      '\r',
      '\uFEFF',
      'id: 1\n',
      '',
    ]
    const random = randomOf(7)
    const pick = () => pieces[random(pieces.length)] ?? ''
    let told = 0
    for (let round = 0; round < 20_000; round += 1) {
      const text = `${Array.from({ length: 1 + random(8) }, pick).join('')}\n\n`
      const event = readEvent(text)
      if (event === undefined) continue
      told += 1
      expect([text, parse(text)]).toEqual([text, [event]])
    }
    expect(told).toBeGreaterThan(100)
  })
})
