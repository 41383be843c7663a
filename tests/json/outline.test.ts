import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { expectCompiled } from '#tests/support/compiled.ts'
import { isJsonObject, type JsonValue } from '@/json/json.ts'
import { type Outline, PLAIN_TEXTS, readOutline, type Texts } from '@/json/outline.ts'
import { type JsonEdit, spliceJson } from '@/json/splice.ts'

test('runs what its source says', () => expectCompiled('src/json/wasm/cut-strings.wasm', 'wasm:json'), 60_000)

/** Pieces of a string as JSON spells it. */
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-zA-Z0-9 ,:{}[\]'/]{0,90}$/) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\\\\\"'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('é', 'ß', '漢字', '😀', '\u007f', '\u0080', '\u07ff', '\u0800', '\uffff'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\\u0041',
      '\\u00e9',
      '\\u07FF',
      '\\u0800',
      '\\ud83d\\ude00',
      '\\ud83d',
      '\\ude00',
    ),
  },
)

const spelling = fc
  .tuple(fc.array(piece, { maxLength: 12 }), fc.constantFrom(1, 1, 4, 60))
  .map(([pieces, times]) => `"${pieces.join('').repeat(times)}"`)

const space = fc.constantFrom('', '', ' ', '\n\t', '\r\n  ')

const scalar = fc.oneof(
  { weight: 4, arbitrary: spelling },
  {
    weight: 1,
    arbitrary: fc.constantFrom('0', '-0', '1e999', '12345678901234567890', 'true', 'false', 'null', '1.5E-3'),
  },
)

const { value: valueText } = fc.letrec<{ value: string; member: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(' , ')}]`),
    fc.array(tie('member'), { maxLength: 4 }).map(members => `{${members.join(',')}}`),
  ),
  member: fc
    .tuple(fc.oneof(spelling, fc.constantFrom('"a"', '"__proto__"', '"\\u0061"')), space, tie('value'))
    .map(([key, gap, value]) => `${key}${gap}:${gap}${value}`),
}))

const documentText = fc
  .tuple(
    fc.constantFrom('', '\ufeff'),
    fc.array(fc.tuple(fc.constantFrom('"messages"', '"x"', '"x"', '"input"'), valueText)),
  )
  .map(([bom, members]) => `${bom}{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`)

const LONG = 'x'.repeat(500)

/** The module sees so much of a document at once. */
const WINDOW = 64 * 1024

/** The document with so much before its own members that a window ends behind so many bytes of them. */
function acrossWindows(text: string, offset: number): string {
  const [head = '', ...rest] = text.split('{')
  const members = rest.join('{')
  const opening = `${head}{"x":["`
  const padding = 'a'.repeat(WINDOW - Buffer.byteLength(opening) - 3 - offset)
  return `${opening}${padding}"]${members === '}' ? '' : ', '}${members}`
}

describe('an outline', () => {
  test('with its texts is what JSON.parse gives', () => {
    let outlined = 0
    fc.assert(
      fc.property(documentText, text => {
        const bytes = Buffer.from(text)
        const parsed: JsonValue = JSON.parse(new TextDecoder().decode(bytes))
        const outline = readOutline(bytes)
        if (outline === undefined) {
          expect(hasLongMember(parsed)).toBe(true)
          return
        }
        outlined += 1
        expect(restored(outline.json, outline)).toEqual(parsed)
        expect(JSON.stringify(restored(outline.json, outline))).toBe(JSON.stringify(parsed))
      }),
      { numRuns: 2000 },
    )
    expect(outlined).toBeGreaterThan(1000)
  })

  test('is the same wherever the windows end through which its document is seen', () => {
    let outlined = 0
    const offsets = fc.integer({ min: -100, max: 1500 })
    fc.assert(
      fc.property(documentText, offsets, (text, offset) => {
        const bytes = Buffer.from(acrossWindows(text, offset))
        const parsed: JsonValue = JSON.parse(new TextDecoder().decode(bytes))
        const outline = readOutline(bytes)
        if (outline === undefined) return expect(hasLongMember(parsed)).toBe(true)
        outlined += 1
        expect(restored(outline.json, outline)).toEqual(parsed)
      }),
      { numRuns: 2000 },
    )
    expect(outlined).toBeGreaterThan(1000)
  })

  test.each([
    ['an escape', '\\n'],
    ['a code', '\\u00e9'],
    ['a pair of codes', '\\ud83d\\ude00'],
    ['half a pair', '\\ud83d\\u0041'],
    ['a run of backslashes', '\\\\\\\\\\"'],
    ['a character of four bytes', '😀'],
    ['a short string', '","b":"'],
    ['a key', `","${'k'.repeat(270)}é" \n :"`],
    ['the end of a long string', `${'y'.repeat(300)}" ,\n "b" : "`],
    ['a gap behind a long string', `${'y'.repeat(300)}"${' '.repeat(90)},"b":"`],
    ['a gap behind a long key', `","${'k'.repeat(300)}"${' '.repeat(90)}:"`],
  ])('reads %s wherever a window ends in it', (_, spelled) => {
    // A string is looked at in blocks of 64 bytes, of which one ends at 448.
    for (let offset = -10; offset < 170; offset += 1) {
      for (const before of [0, 443, 447]) {
        const long = 'z'.repeat(before)
        const text = `{"messages":[{"a":"${long}${spelled}${long}"}]}`
        if (parsedOrNot(text) === undefined) throw new Error(`no JSON: ${text}`)
        const bytes = Buffer.from(acrossWindows(text, offset + before + Math.max(0, spelled.length - 60)))
        const outline = readOutline(bytes)
        expect(outline && restored(outline.json, outline)).toEqual(JSON.parse(bytes.toString()))
        expect(outline && lengths(outline.json, outline)).toEqual(
          lengths(JSON.parse(bytes.toString()), PLAIN_TEXTS),
        )
      }
    }
  })

  test('reads on behind a string that fills a window, wherever that ends', () => {
    for (let more = 0; more < 200; more += 1) {
      const long = 'z'.repeat(2 * WINDOW - 250 + more)
      const gap = ' \n'.repeat(60)
      const text = `{"messages":["${long}"${gap}, 1, {"${long}"${gap}: 2}]}`
      const outline = readOutline(Buffer.from(text))
      expect(outline && restored(outline.json, outline)).toEqual(JSON.parse(text))
    }
  })

  test('cuts no short string, wherever a window ends in it', () => {
    const model = `\n${'m'.repeat(200)}`
    for (let offset = -10; offset < 300; offset += 1) {
      const text = acrossWindows(JSON.stringify({ model }), offset)
      expect(readOutline(Buffer.from(text))?.json['model']).toBe(model)
    }
  })

  test('leaves a key that is longer than a window', () => {
    const long = 'k"é\n'.repeat(60_000)
    const document = { messages: [{ [long]: long, [`${long}!`]: 1 }], [long]: [long] }
    const outline = readOutline(Buffer.from(JSON.stringify(document)))
    expect(outline && restored(outline.json, outline)).toEqual(document)
  })

  test('knows how long its texts are', () => {
    fc.assert(
      fc.property(spelling, text => {
        const outline = readOutline(Buffer.from(`{"a":[${text}]}`))
        const [value] = (outline?.json['a'] ?? []) as [string]
        expect(outline?.byteLength(value)).toBe(Buffer.byteLength(JSON.parse(text)))
      }),
      { numRuns: 2000 },
    )
  })

  test('is of no text that JSON.parse refuses', () => {
    const utf8 = new TextDecoder('utf-8', { fatal: true })
    let refused = 0
    const offsets = fc.option(fc.integer({ min: -100, max: 1500 }))
    const places = fc.array(
      fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom('set', 'cut', 'add')),
      {
        minLength: 1,
        maxLength: 2,
      },
    )
    fc.assert(
      fc.property(documentText, places, offsets, (text, mutations, offset) => {
        const whole = Buffer.from(offset === null ? text : acrossWindows(text, offset))
        const from = offset === null ? 0 : WINDOW - 200
        const bytes = mutations.reduce<Buffer>((all, change) => mutate(all, change, from), whole)
        let parsed: JsonValue | undefined
        try {
          parsed = JSON.parse(utf8.decode(bytes))
        } catch {
          refused += 1
        }
        const outline = readOutline(bytes)
        if (parsed === undefined) expect(outline).toBeUndefined()
        else if (outline !== undefined) expect(restored(outline.json, outline)).toEqual(parsed)
      }),
      { numRuns: 4000 },
    )
    expect(refused).toBeGreaterThan(500)
  })

  test.each([
    ['a control character', '\u0001'],
    ['a line break', '\n'],
    ['an unknown escape', '\\x'],
    ['an escape of a control character', '\\\u0000'],
    ['an escape with three digits', '\\u12 4'],
    ['an escape with a sign', '\\u+123'],
    ['an end in an escape', '\\'],
    ['an end in a code', '\\u00'],
    ['a quote', '"'],
  ])('is of no text with %s in a long string, wherever it stands', (_, wrong) => {
    for (let at = 0; at < 200; at += 1) {
      const text = `{"a":["${'x'.repeat(300 + at)}${wrong}"]}`
      expect(() => JSON.parse(text)).toThrow()
      expect(readOutline(Buffer.from(text))).toBeUndefined()
      const within = `{"a":["${'x'.repeat(at)}${wrong}${'z'.repeat(300)}"]}`
      expect(() => JSON.parse(within)).toThrow()
      expect(readOutline(Buffer.from(within))).toBeUndefined()
    }
  })

  test('finds the end of a string behind any run of backslashes, wherever it stands', () => {
    for (let run = 0; run < 140; run += 1) {
      for (const before of [0, 1, 61, 62, 63, 64, 65, 300]) {
        const text = `{"a":["${'x'.repeat(before)}${'\\'.repeat(run)}",${'"'.repeat(run % 2 === 1 ? 1 : 0)}"${'y'.repeat(300)}"]}`
        const parsed = parsedOrNot(text)
        const outline = readOutline(Buffer.from(text))
        expect(outline && restored(outline.json, outline)).toEqual(parsed)
      }
    }
  })

  test('does not depend on what was looked at before', () => {
    const longer = Buffer.from(`{"a":["${'\\"'.repeat(5000)}"]}`)
    const open = Buffer.from(`{"a":["${'x'.repeat(400)}`)
    expect(readOutline(longer)).toBeDefined()
    expect(readOutline(open)).toBeUndefined()
    expect(readOutline(Buffer.from('{"a":'))).toBeUndefined()
  })

  test('is made of very large documents too', () => {
    const text = 'long "text"\n'.repeat(800_000)
    const outline = readOutline(Buffer.from(JSON.stringify({ messages: [text, 'short'] })))
    expect(outline && restored(outline.json, outline)).toEqual({ messages: [text, 'short'] })
  })

  test('shows what a member at the top says, unless that is a prompt', () => {
    const long = 'x'.repeat(1000)
    expect(readOutline(Buffer.from(JSON.stringify({ model: long })))).toBeUndefined()
    const outline = readOutline(Buffer.from(JSON.stringify({ model: 'm', input: long })))
    expect(outline?.json['model']).toBe('m')
    expect(outline?.whole(String(outline.json['input']))).toBe(long)
  })
})

const edit: fc.Arbitrary<JsonEdit> = fc
  .tuple(
    fc.array(fc.constantFrom('model', 'messages', 'x', 'input', 'store', 'a', 0, 1), {
      minLength: 1,
      maxLength: 2,
    }),
    fc.constantFrom({ value: 'é"' }, { value: null }, { text: '[1 ]' }, { remove: true } as const),
  )
  .map(([path, change]) => ({ path: [`${path[0]}`, ...path.slice(1)], ...change }))

describe('a splice of an outlined document', () => {
  test('is that of the document', () => {
    let outlined = 0
    let inPlace = 0
    fc.assert(
      fc.property(documentText, fc.array(edit, { minLength: 1, maxLength: 3 }), (text, edits) => {
        const bytes = Buffer.from(text)
        const outline = readOutline(bytes)
        if (outline === undefined) return
        outlined += 1
        const expected = Buffer.from(spliceJson(bytes, edits)).toString()
        const { bytes: edited, undo } = outline.edit(edits)
        expect(Buffer.from(edited).toString()).toBe(expected)
        expect(restored(outline.json, outline)).toEqual(
          JSON.parse(new TextDecoder().decode(Buffer.from(text))),
        )
        const isCopy = edited.buffer !== bytes.buffer
        if (!isCopy) inPlace += 1
        // What changes nothing needs no way back.
        if (undo === undefined) return expect(isCopy || expected === text).toBe(true)
        expect(isCopy).toBe(false)
        undo()
        expect(bytes.toString()).toBe(text)
      }),
      { numRuns: 3000 },
    )
    expect(outlined).toBeGreaterThan(1000)
    expect(inPlace).toBeGreaterThan(100)
  })

  test.each([
    ['a shorter name before a long string', '{"model":"model","x":["LONG"]}', '"m"', true],
    ['a name of the same length', '\ufeff{"model":"model","x":["LONG"]}', '"n_del"', true],
    ['a longer name', '{"model":"model","x":["LONG"]}', '"model-2"', false],
    ['a name that is there already', '{"model":"model","x":["LONG"]}', '"model"', true],
    ['a shorter name behind the long strings', '{"a":["LONG",1,"LONG"], "model":"model" }', '"m"', true],
    ['a longer name behind them', '{"x":["LONG"], "model":"model" }', '"model-2"', false],
    ['a name between them', '{"input":"LONG","model":"model","x":["LONG"]}', '"m"', false],
    ['a name where all strings are short', '{"model":"model"}', '"m"', false],
    ['a name far behind them', `{"x":["LONG"],"model":"model","y":[${'1,'.repeat(9000)}1]}`, '"m"', false],
  ])('writes %s to its memory, or does not', (_, shape, name, isInPlace) => {
    const text = shape.replaceAll('LONG', LONG)
    const bytes = Buffer.from(new TextEncoder().encode(text).buffer)
    const edited = readOutline(bytes)?.edit([{ path: ['model'], text: name }])
    expect(String(edited?.bytes)).toBe(text.replace('"model":"model"', `"model":${name}`))
    expect(edited?.bytes.buffer === bytes.buffer).toBe(isInPlace)
    edited?.undo?.()
    expect(bytes.toString()).toBe(text)
  })
})

test.each([
  ['a short string', '{"a":["the mark"]}', true],
  ['a key', '{"a":{"mark!":1}}', true],
  ['the beginning of a long string', `{"a":["x${LONG}","mark${LONG}"]}`, true],
  ['nothing but the middle of a long string', `{"a":["xmark${LONG}"]}`, false],
])('whether an outline mentions what is in %s', (_, text, expected) => {
  expect(readOutline(Buffer.from(text))?.mentions(Buffer.from('mark'))).toBe(expected)
})

/** The value with the texts that it stands for. */
function restored(value: JsonValue, outline: Outline): JsonValue {
  if (typeof value === 'string') return outline.whole(value)
  if (Array.isArray(value)) return value.map(item => restored(item, outline))
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(
    ([key, member]) => [key, restored(member ?? null, outline)] as const,
  )
  return Object.fromEntries(entries)
}

/** The lengths of all texts, in their order. */
function lengths(value: JsonValue, texts: Texts): number[] {
  if (typeof value === 'string') return [texts.byteLength(value)]
  if (Array.isArray(value)) return value.flatMap(item => lengths(item, texts))
  if (!isJsonObject(value)) return []
  return Object.values(value).flatMap(member => lengths(member ?? null, texts))
}

function hasLongMember(value: JsonValue): boolean {
  return isJsonObject(value) && ['messages', 'x'].some(name => typeof value[name] === 'string')
}

function parsedOrNot(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Changes a byte that is not before `from`. */
function mutate(bytes: Buffer, [place, byte, how]: [number, number, string], from: number): Buffer {
  const at = from + (place % (bytes.length + 1 - from))
  const rest = bytes.subarray(how === 'add' ? at : at + 1)
  const middle = how === 'cut' ? [] : [byte]
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(middle), rest])
}
