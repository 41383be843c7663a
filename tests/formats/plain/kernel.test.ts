import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { expectCompiled } from '#tests/support/compiled.ts'
import {
  type FrameParts,
  heldOf,
  listeningTemplate,
  NOTHING_HELD,
  type Surroundings,
  takePlain,
  writingTemplate,
} from '@/formats/plain/kernel.ts'

test(
  'runs what its source says',
  () => expectCompiled('src/formats/plain/wasm/plain-events.wasm', 'wasm:plain'),
  60_000,
)

const FRAME: FrameParts = {
  pieces: [Buffer.from('data: {"n":'), Buffer.from(',"text":"'), Buffer.from('"}\n\n')],
  holes: ['count', 'text'],
  usage: undefined,
}
const WRITING: Surroundings = { before: 'before «', between: undefined, after: '» after', holdsBack: false }

function templateOf(surroundings: Surroundings | undefined, frame = FRAME) {
  const listening = listeningTemplate(frame)
  const template = listening && surroundings ? writingTemplate(listening, surroundings) : listening
  if (template === undefined) throw new Error('no room for a short template')
  return template
}

/** An event with a string whose inside is spelled by these bytes. */
function eventOf(inside: Uint8Array, n = 1): Buffer {
  return Buffer.concat([Buffer.from(`data: {"n":${n},"text":"`), inside, Buffer.from('"}\n\n')])
}

/** What a run took of some bytes: undefined when it took nothing. */
function take(bytes: Uint8Array, surroundings = WRITING) {
  const run = takePlain(templateOf(surroundings), bytes, 0, 0, NOTHING_HELD)
  if (run.end === 0) return undefined
  const { events, end, length, bytes: saidBytes, text } = run
  return { events, end, length, bytes: saidBytes, text, output: Buffer.from(run.output()).toString('utf8') }
}

/** The same of one event, by what JSON says about it. */
function expected(inside: Buffer): ReturnType<typeof take> {
  let text: unknown
  try {
    text = JSON.parse(`"${new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(inside)}"`)
  } catch {
    return undefined
  }
  if (typeof text !== 'string' || text === '' || !text.isWellFormed()) return undefined
  const output = `before «${JSON.stringify(text).slice(1, -1)}» after`
  const { length } = text
  return { events: 1, end: eventOf(inside).length, length, bytes: Buffer.byteLength(text), text, output }
}

/** Pieces of a string as JSON spells it, some of which are none, or no UTF-8. */
const piece = fc.oneof(
  fc.string({ unit: 'binary' }).map(text => JSON.stringify(text).slice(1, -1)),
  fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map(text => JSON.stringify(text).slice(1, -1)),
  fc.constantFrom('\\/', '\\u0041', '\\u000a', '\\u001F', '\\u00e9', '\\uD83D\\uDE80', '\\ud83d', '\\ude80'),
  fc.constantFrom(
    '\\ud83d\\u0041',
    '\\u12',
    '\\u12g4',
    '\\x',
    '\\',
    '\u0000',
    '\u001f',
    '\u007f',
    '\n',
    'é',
    '語',
    '🚀',
  ),
)
const bytes = fc.oneof(
  { weight: 5, arbitrary: piece.map(text => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 5 }).map(some => Buffer.from(some)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        'c080',
        'e08080',
        'eda080',
        'f0808080',
        'f4908080',
        'f8888080',
        'efbbbf',
        'c3',
        'e282',
        'f09f98',
      )
      .map(hex => Buffer.from(hex, 'hex')),
  },
)

test('a text is what JSON says that it is, and written as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 12 }), pieces => {
      const inside = Buffer.concat(pieces)
      // A quote ends the string early, which makes another event of it.
      fc.pre(!/(^|[^\\])(\\\\)*"/.test(inside.toString('latin1')))
      expect(take(eventOf(inside))).toEqual(expected(inside))
    }),
    { numRuns: 20_000 },
  )
}, 60_000)

test('every character is taken, however it is spelled', () => {
  for (let code = 1; code <= 0x10ffff; code = code < 0x3000 ? code + 1 : code + 977) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const text = `a${String.fromCodePoint(code)}`
    const escaped = text.replace(/[^a]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    for (const spelled of [JSON.stringify(text).slice(1, -1), escaped]) {
      expect(take(eventOf(Buffer.from(spelled)))).toEqual(expected(Buffer.from(spelled)))
      expect(take(eventOf(Buffer.from(spelled)))?.text).toBe(text)
    }
  }
})

test.each([
  ['a count with a leading zero', 'data: {"n":01,"text":"a"}\n\n'],
  ['no count', 'data: {"n":,"text":"a"}\n\n'],
  ['a negative one', 'data: {"n":-1,"text":"a"}\n\n'],
  ['a fraction', 'data: {"n":1.5,"text":"a"}\n\n'],
  ['an empty text', 'data: {"n":1,"text":""}\n\n'],
  ['another letter', 'data: {"m":1,"text":"a"}\n\n'],
  ['an event that has not ended', 'data: {"n":1,"text":"a"}\n'],
  ['a text that has not', 'data: {"n":1,"text":"a'],
  ['half an escape', 'data: {"n":1,"text":"a\\'],
])('takes no event with %s', (_name, event) => {
  expect(take(Buffer.from(event))).toBeUndefined()
})

describe('many events at once', () => {
  const texts = Array.from({ length: 1500 }, (_, index) => `word ${index} "é\\u0041"`)
  const inside = texts.map(text => text.replace(/"/g, '\\"'))
  const stream = Buffer.concat(inside.map((text, index) => eventOf(Buffer.from(text), index)))
  const plain = texts.map(text => text.replace('\\u0041', 'A'))

  /** All that comes of the stream, in as many runs as it takes. */
  function takeAll(surroundings: Surroundings | undefined, held = '') {
    const template = templateOf(surroundings)
    const output: Uint8Array[] = []
    let [at, said, events, last] = [0, '', 0, heldOf(held)]
    while (at < stream.length) {
      const run = takePlain(template, stream, at, events + 8, last)
      if (run.end === at) break
      at = run.end
      said += run.text
      events += run.events
      last = run.held
      output.push(run.output())
    }
    return { at, said, events, output: Buffer.concat(output).toString('utf8') }
  }
  const all = { at: stream.length, said: plain.join(''), events: texts.length }
  const spell = (text: string) => JSON.stringify(text).slice(1, -1)

  test('are written one after another', () => {
    expect(takeAll(WRITING)).toEqual({
      ...all,
      output: plain.map(text => `before «${spell(text)}» after`).join(''),
    })
  })

  test('are numbered', () => {
    expect(takeAll({ ...WRITING, between: ' | ' })).toEqual({
      ...all,
      output: plain.map((text, index) => `before «${index + 8} | ${spell(text)}» after`).join(''),
    })
  })

  test('have room for what is longer than they are', () => {
    const after = '.'.repeat(5000)
    expect(takeAll({ ...WRITING, after })).toEqual({
      ...all,
      output: plain.map(text => `before «${spell(text)}${after}`).join(''),
    })
  })

  test('hold their last characters back', () => {
    const held = [...plain.keys()].map(index => (index === 0 ? 'x' : (plain[index - 1]?.at(-1) ?? '')))
    expect(takeAll({ ...WRITING, holdsBack: true }, 'x')).toEqual({
      ...all,
      output: plain
        .map((text, index) => `before «${spell(held[index] ?? '')}${spell(text.slice(0, -1))}» after`)
        .join(''),
    })
  })

  test('are listened to', () => {
    expect(takeAll(undefined)).toEqual({ ...all, output: '' })
  })
})

test('the usage of the last event is found', () => {
  const event = (n: number) => `{"usage":{"in":12,"out":${n}},"text":"a"}`
  const frame: FrameParts = {
    pieces: [Buffer.from('{"usage":{"in":12,"out":'), Buffer.from('},"text":"'), Buffer.from('"}')],
    holes: ['count', 'text'],
    usage: { from: 0, start: 9, to: 1, end: 1 },
  }
  const stream = event(3) + event(4)
  const run = takePlain(templateOf(undefined, frame), Buffer.from(stream), 0, 0, NOTHING_HELD)
  expect([run.events, stream.slice(run.usageStart, run.usageEnd)]).toEqual([2, '{"in":12,"out":4}'])
})

test('streams whose events are written alike have one template, so that it is loaded once for all of them', () => {
  const listening = templateOf(undefined)
  const numbering = { ...WRITING, between: 'n' }
  const [first, second] = [WRITING, { ...WRITING }].map(around => writingTemplate(listening, around))
  expect(first).toBeDefined()
  expect(second).toBe(first)
  for (const other of [
    { ...WRITING, before: 'b' },
    { ...WRITING, after: 'a' },
    { ...WRITING, holdsBack: true },
    numbering,
  ]) {
    const template = writingTemplate(listening, other)
    expect(template).toEqual(writingTemplate(templateOf(undefined), other))
    expect(template).not.toEqual(first)
  }
})

test('a template that has no room is none', () => {
  const long = 'x'.repeat(20_000)
  expect(writingTemplate(templateOf(undefined), { ...WRITING, before: long })).toBeUndefined()
  expect(listeningTemplate({ ...FRAME, pieces: [Buffer.from(long), ...FRAME.pieces] })).toBeUndefined()
})
