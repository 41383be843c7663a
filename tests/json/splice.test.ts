import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { type JsonEdit, spliceJson } from '@/json/splice.ts'

/** Both ways: by walking through the text, and knowing what it says. They must not differ by a byte. */
const splice = (text: string, ...edits: JsonEdit[]): string => {
  const walked = Buffer.from(spliceJson(Buffer.from(text), edits)).toString()
  const parsed = objectIn(text)
  if (parsed !== undefined)
    expect(Buffer.from(spliceJson(Buffer.from(text), edits, parsed)).toString()).toBe(walked)
  return walked
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const edit = (path: string, value: JsonValue): JsonEdit => ({ path: path.split('.'), value })

describe('replaces a value and nothing else', () => {
  test.each([
    ['a string', '{"model":"a","n":1.0}', '{"model":"b","n":1.0}'],
    ['white space', ' {\r\n\t"model" : "a" , "n" : 1e3 } \n', ' {\r\n\t"model" : "b" , "n" : 1e3 } \n'],
    ['a number', '{"model":-1.50E+07}', '{"model":"b"}'],
    ['an object', '{"model":{"model":"c"},"x":[]}', '{"model":"b","x":[]}'],
    ['an array as last value', '{"x":1,"model":[[],"]"]}', '{"x":1,"model":"b"}'],
    ['an escaped key', '{"mod\\u0065l":"a"}', '{"mod\\u0065l":"b"}'],
    [
      'an escaped quote in a neighbour',
      '{"x":"\\"model\\":\\\\","model":"a"}',
      '{"x":"\\"model\\":\\\\","model":"b"}',
    ],
    [
      'every duplicate',
      '{"model":"a","x":{"model":"a"},"model":null}',
      '{"model":"b","x":{"model":"a"},"model":"b"}',
    ],
    ['not the same key deeper', '{"x":[{"model":"a"}],"model":"a"}', '{"x":[{"model":"a"}],"model":"b"}'],
    ['an escaped duplicate', '{"model":"a","\\u006dodel":"a"}', '{"model":"b","\\u006dodel":"b"}'],
    ['an escaped key beside its text', '{"mode\\u006C":"a","x":"model"}', '{"mode\\u006C":"b","x":"model"}'],
    ['a value that ends like the key', '{"x":"\\"model","model":"a"}', '{"x":"\\"model","model":"b"}'],
    ['not the same text as a value', '{"x":"model","model":"a"}', '{"x":"model","model":"b"}'],
  ])('%s', (_, before, after) => {
    expect(splice(before, edit('model', 'b'))).toBe(after)
  })
})

describe('inserts what is missing', () => {
  test.each([
    ['into an empty object', '{ }', '{"s":{"u":true} }'],
    ['after the last member', '{"a":1 }', '{"a":1,"s":{"u":true} }'],
    ['into a parent that is there', '{"s":{ "x":0 },"a":1}', '{"s":{ "x":0,"u":true },"a":1}'],
    ['into an empty parent', '{"s":{}}', '{"s":{"u":true}}'],
    ['in place of a null parent', '{"s": null ,"a":1}', '{"s": {"u":true} ,"a":1}'],
    ['in place of a parent that is a list', '{"s":[{"u":1}]}', '{"s":{"u":true}}'],
    ['into every duplicate parent', '{"s":{"u":0},"s":{}}', '{"s":{"u":true},"s":{"u":true}}'],
  ])('%s', (_, before, after) => {
    expect(splice(before, edit('s.u', true))).toBe(after)
  })

  test('at the top, though it stands deeper', () => {
    expect(splice('{"x":{"s":1}}', edit('s', 2))).toBe('{"x":{"s":1},"s":2}')
  })
})

describe('removes a member and the comma that it no longer needs', () => {
  test.each([
    ['the only one', '{ "s":1 }', '{ }'],
    ['the first', '{"s":1 , "a":2}', '{"a":2}'],
    ['one in the middle', '{"a":1 , "s":[1,2] , "b":2}', '{"a":1 , "b":2}'],
    ['the last', '{"a":1 , "s":{} }', '{"a":1 }'],
    ['every duplicate', '{"s":1,"a":1.0,"s":2,"s":3}', '{"a":1.0}'],
    ['nothing where there is none', '{"a":{"s":1}}', '{"a":{"s":1}}'],
  ])('%s', (_, before, after) => {
    expect(splice(before, { path: ['s'], remove: true })).toBe(after)
  })

  test('makes no parent for what is to be away', () => {
    expect(splice('{"a":1}', { path: ['s', 'u'], remove: true })).toBe('{"a":1}')
    expect(splice('{"s":null}', { path: ['s', 'u'], remove: true })).toBe('{"s":null}')
  })

  test('beside edits of other members', () => {
    const remove = (name: string): JsonEdit => ({ path: [name], remove: true })
    expect(splice('{"a":1,"b":2,"c":3}', remove('a'), remove('b'), edit('n', 1))).toBe('{"c":3,"n":1}')
    expect(splice('{"a":1,"b":2}', remove('a'), remove('b'), edit('n', 1))).toBe('{"n":1}')
    expect(splice('{"a":{"x":1}}', remove('a'), edit('a.b', 1))).toBe('{"a":{"b":1}}')
  })
})

test('takes JSON text as it is spelled', () => {
  expect(splice('{"a":0}', { path: ['a'], text: '[1.0, 1e3]' })).toBe('{"a":[1.0, 1e3]}')
  expect(splice('{}', { path: ['a'], text: '{"x":1.0}' }, edit('a.y', 2))).toBe('{"a":{"x":1.0,"y":2}}')
})

test('a number is a place in an array; what is beyond its end is left alone', () => {
  const at = (place: number): JsonEdit => ({ path: ['r', place, 'm'], value: 'b' })
  expect(splice('{"r":[ {"m":"a" }, [1,"]"] ,{"x":0}] }', at(0), at(2), at(3))).toBe(
    '{"r":[ {"m":"b" }, [1,"]"] ,{"x":0,"m":"b"}] }',
  )
  expect(splice('{"r":[]}', at(0))).toBe('{"r":[]}')
})

test('items of an array go with their comma, whichever they are, and the others stay as they are spelled', () => {
  const spelled = ['1.0', '{ "a" : [ ] }', '"\\u0061,]"', '[[1,2] ]', 'null']
  fc.assert(
    fc.property(
      fc.subarray([...spelled.keys()]),
      fc.constantFrom('', ' ', '\n\t'),
      fc.integer({ min: 0, max: spelled.length }),
      (gone, space, length) => {
        const items = spelled.slice(0, length)
        const text = `{"r":[${space}${items.join(`${space},${space}`)}${space}],"z":1e3}`
        const edits = gone.map((place): JsonEdit => ({ path: ['r', place], remove: true }))
        const kept = items.filter((_, place) => !gone.includes(place))
        const after = splice(text, ...edits)
        expect(JSON.parse(after)).toEqual({ r: kept.map(item => JSON.parse(item)), z: 1e3 })
        for (const item of kept) expect(after).toContain(item)
        expect(after).toEndWith(',"z":1e3}')
      },
    ),
  )
  const both: JsonEdit[] = [
    { path: ['r', 1], remove: true },
    { path: ['r', 2, 'm'], value: 'b' },
  ]
  expect(splice('{"r":[{"m":"a"}, {"m":"a"}, {"m":"a"}]}', ...both)).toBe('{"r":[{"m":"a"}, {"m":"b"}]}')
})

test('a key that can be spelled in several ways is edited at the top, and not where it stands deeper', () => {
  const text = '{"x":{"a/b":1},"a\\/b":2}'
  expect(splice(text, { path: ['a/b'], value: 3 })).toBe('{"x":{"a/b":1},"a\\/b":3}')
  expect(splice(text, { path: ['a/b'], value: 3 }, edit('y', 4))).toBe('{"x":{"a/b":1},"a\\/b":3,"y":4}')
})

test('applies edits one after another', () => {
  expect(splice('{"a":0}', edit('a', 1), edit('a', 2))).toBe('{"a":2}')
  expect(splice('{"a":0}', edit('a', { x: 1 }), edit('a.b.c', 2))).toBe('{"a":{"x":1,"b":{"c":2}}}')
  expect(splice('{"a":{"b":0}}', edit('a.b', 1), edit('a', null))).toBe('{"a":null}')
})

test('sets __proto__ as a plain key', () => {
  expect(splice('{"__proto__":1}', edit('__proto__', 2))).toBe('{"__proto__":2}')
  expect(splice('{"a":0}', edit('a', {}), edit('a.__proto__.x', 1))).toBe('{"a":{"__proto__":{"x":1}}}')
})

test('keeps a BOM and bytes that are not UTF-8', () => {
  const raw = Buffer.concat([
    Buffer.from([0xef, 0xbb, 0xbf]),
    Buffer.from('{"x":"'),
    Buffer.from([0xff, 0xc3]),
    Buffer.from('","model":"a"}'),
  ])
  const spliced = Buffer.from(spliceJson(raw, [edit('model', 'é')]))
  expect(spliced.subarray(0, -3)).toEqual(
    Buffer.concat([raw.subarray(0, -3), Buffer.from('é').subarray(0, 1)]),
  )
  expect(spliced.subarray(-4)).toEqual(Buffer.concat([Buffer.from('é'), Buffer.from('"}')]))
})

test('reads the view it was given, not the buffer behind it', () => {
  const whole = Buffer.from('xx{"a":1}yy')
  expect(Buffer.from(spliceJson(whole.subarray(2, 9), [edit('a', 2)])).toString()).toBe('{"a":2}')
})

test('gives the same bytes back when there is nothing to edit', () => {
  const raw = Buffer.from('{"a":1}')
  expect(spliceJson(raw, [])).toBe(raw)
})

test('cut off JSON ends the scan instead of hanging', () => {
  const text = '{"a":{"b":["c\\"d",1.5e3,null]},"model":"x"}'
  for (let end = 0; end <= text.length; end++) {
    expect(splice(text.slice(0, end), edit('model', 'y'))).toBeString()
  }
})

/** JSON text with everything that a re-serialisation would lose, and keys drawn from a small set so that paths hit. */
const space = fc.constantFrom('', '', ' ', '\n', '\t ', '\r\n')
const key = fc.constantFrom(
  ...['a', 'b', 'model', '__proto__', '', 'é', '1', 'q"\\'].map(name => JSON.stringify(name)),
  '"mod\\u0065l"',
  '"\\u0061"',
)
const scalar = fc.oneof(
  fc.constantFrom(
    '1.0',
    '1e3',
    '-0',
    '1E+2',
    '12345678901234567890',
    'null',
    'true',
    'false',
    '"\\/\\u00e9\\ud83d\\ude00"',
  ),
  fc.string({ unit: 'binary', maxLength: 60 }).map(text => JSON.stringify(text)),
  fc.constantFrom('"{"', '"]\\\\"', '"\\""', `"${'long, '.repeat(20)}\\\\\\"}"`),
)
const { value: jsonText } = fc.letrec<{ value: string; member: string }>(tie => ({
  value: fc
    .tuple(
      space,
      fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        scalar,
        fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(',')}]`),
        fc
          .tuple(fc.array(tie('member'), { maxLength: 5 }), space)
          .map(([members, inner]) => `{${members.join(',')}${members.length === 0 ? inner : ''}}`),
      ),
      space,
    )
    .map(pieces => pieces.join('')),
  member: fc.tuple(space, key, space, tie('value')).map(([a, name, b, value]) => `${a}${name}${b}:${value}`),
}))
const path = fc.array(fc.constantFrom('a', 'b', 'model', '__proto__', 'é', '1', 'new'), {
  minLength: 1,
  maxLength: 3,
})
/** Removals first: an edit that is taken back may leave the parent that it made. */
const edits: fc.Arbitrary<JsonEdit[]> = fc
  .tuple(
    fc.array(fc.record({ path, remove: fc.constant<true>(true) }), { maxLength: 2 }),
    fc.array(fc.record({ path, value: fc.jsonValue() as fc.Arbitrary<JsonValue> }), { maxLength: 3 }),
  )
  .map(parts => parts.flat())

/** The law: what an edit means, on parsed values. */
function applied(
  parent: JsonValue | undefined,
  path: JsonEdit['path'],
  change: JsonEdit,
): JsonValue | undefined {
  const [head, ...rest] = path
  if (head === undefined) return 'value' in change ? change.value : undefined
  if ('remove' in change && !isJsonObject(parent)) return parent
  const members = new Map(isJsonObject(parent) ? Object.entries(parent) : [])
  const name = String(head)
  const member = applied(members.get(name), rest, change)
  if (member === undefined) members.delete(name)
  else members.set(name, member)
  return Object.fromEntries(members)
}

test('after a splice, JSON.parse gives the edit applied to the parsed value', () => {
  fc.assert(
    fc.property(jsonText, edits, (text, changes) => {
      const expected = changes.reduce(
        (value: JsonValue | undefined, change) => applied(value, change.path, change),
        JSON.parse(text) as JsonValue,
      )
      const spliced = JSON.parse(splice(text, ...changes)) as JsonValue
      // Through JSON, because -0 and 0 differ to the matcher but not in text.
      expect(sorted(spliced)).toEqual(sorted(JSON.parse(JSON.stringify(expected)) as JsonValue))
    }),
    { numRuns: 1000 },
  )
})

/** Objects as sorted entries: equality that sees own keys called __proto__. */
function sorted(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return Object.is(value, -0) ? 0 : value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)])
}

test('every byte outside of the edited spans stays', () => {
  const MARK = '\u0001'
  fc.assert(
    fc.property(fc.array(jsonText, { minLength: 1, maxLength: 6 }), fc.nat(), space, (values, pick, gap) => {
      const at = pick % values.length
      const members = (middle: string) =>
        values.map((value, index) => `${gap}"k${index}"${gap}:${index === at ? middle : value}`).join(',')
      const [head = '', tail = ''] = `{${members(`${gap}${MARK}${gap}`)}}`.split(MARK)
      const old = (values[at] ?? '').trim()
      expect(splice(`${head}${old}${tail}`, edit(`k${at}`, 'new'))).toBe(`${head}"new"${tail}`)
    }),
    { numRuns: 500 },
  )
})
