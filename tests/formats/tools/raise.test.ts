import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { callEvents } from '#tests/formats/events.ts'
import { functionTool } from '#tests/formats/parts.ts'
import { lowerTools } from '@/formats/tools/lower.ts'
import { raiseTools } from '@/formats/tools/raise.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import type { ToolCallPart } from '@/generation/part.ts'
import { clientTool, customTool, functionNamed, RULE, request } from './fixtures.ts'

const { table } = lowerTools(
  request({
    tools: [
      customTool('exec', { namespace: 'functions' }),
      functionNamed('run', 'mcp'),
      clientTool('apply_patch', 'apply_patch'),
      clientTool('local_shell', 'local_shell'),
      functionNamed('plain'),
    ],
  }),
  RULE,
)
const raise = (events: Iterable<GenerationEvent>) => runMachine(raiseTools(table), events)

function callIn(events: Iterable<GenerationEvent>): ToolCallPart {
  const part = collect(events).candidates[0]?.parts[0]
  if (part?.type !== 'tool-call') throw new Error('no call')
  return part
}

const custom = (...pieces: string[]) => callIn(raise(callEvents(0, 'functions__exec', ...pieces))).input
const deltas = (...pieces: string[]) =>
  raise(callEvents(0, 'functions__exec', ...pieces)).flatMap(event =>
    event.type === 'tool-input-delta' ? event.text : [],
  )

describe('names and kinds come back', () => {
  test.each([
    ['mcp__run', 'function', 'run', 'mcp'],
    ['apply_patch', 'apply_patch', 'apply_patch', undefined],
    ['local_shell', 'local_shell', 'local_shell', undefined],
    ['plain', 'function', 'plain', undefined],
    ['unheard_of', 'function', 'unheard_of', undefined],
  ])('%s', (name, kind, raisedName, namespace) => {
    const events = callEvents(0, name, '{"a":', '1.0}')
    const [start, ...rest] = raise(events)
    expect(start).toMatchObject({
      type: 'tool-input-start',
      kind,
      name: raisedName,
      namespace,
      callId: 'call_0',
    })
    expect(rest).toEqual(events.slice(1))
  })

  test('events that are no calls pass as the same objects', () => {
    const events: GenerationEvent[] = [
      { type: 'start', id: 'a', model: 'm', serviceTier: undefined },
      { type: 'text-start', block: 0, candidate: 0 },
      { type: 'text-delta', block: 0, text: 'x' },
    ]
    for (const [index, event] of raise(events).entries()) expect(event).toBe(events[index] as GenerationEvent)
  })
})

describe('arguments have their own names again', () => {
  const parameters = { type: 'object', properties: { $top: {}, 'filter[id]': {} } }
  const lowered = lowerTools(
    request({
      tools: [functionTool('list', { parameters }), functionTool('list', { parameters, namespace: 'mcp' })],
    }),
    { ...RULE, argument: /^[a-zA-Z0-9_.-]{1,64}$/ },
  )
  const raised = (name: string, ...pieces: string[]) =>
    callIn(runMachine(raiseTools(lowered.table), callEvents(0, name, ...pieces)))

  test.each(['list', 'mcp__list'])('of %s, wherever their pieces are cut', name => {
    const text = '{ "\\u005ftop": 1.0, "filter_id_": {"_top": 12345678901234567890} }'
    const own = '{"$top":1.0,"filter[id]":{"_top":12345678901234567890}}'
    expect(raised(name, text)).toMatchObject({ name: 'list', input: own })
    expect(raised(name, ...text).input).toBe(own)
  })

  test('of which each piece counts as it comes, and once', () => {
    const pieces = ['{"_to', 'p":"', 'é"}']
    const told = runMachine(raiseTools(lowered.table), callEvents(0, 'list', ...pieces))
    const bytes = told.flatMap(event => (event.type === 'withheld' ? event.bytes : []))
    expect(bytes).toEqual([...pieces.map(piece => Buffer.byteLength(piece)), -'{"$top":".."}'.length])
  })

  test.each(['', '{}', '{"other":1}', '{"_top": 1', '[]'])('%p has none to give back and stays', text => {
    expect(raised('list', text).input).toBe(text)
  })
})

describe('custom input', () => {
  test('streams as free text', () => {
    expect(deltas('{"in', 'put":"a', 'b\\', 'n', 'c"', '}')).toEqual(['a', 'b', '\n', 'c'])
  })

  test('edge 43: quotes, backslashes, newlines, escapes and astral characters, cut at every place', () => {
    const input = 'say "hi"\\n\n\t\u0001é 😀 \ud83d\ude00 end\\'
    const spelled = `{ "input" : "${[...JSON.stringify(input).slice(1, -1)].join('')}\\ud83d\\uDE00\\/" }`
    for (let a = 0; a <= spelled.length; a += 1) {
      for (let b = a; b <= spelled.length; b += 7) {
        const pieces = [spelled.slice(0, a), spelled.slice(a, b), spelled.slice(b)]
        expect(custom(...pieces)).toBe(`${input}😀/`)
        for (const delta of deltas(...pieces)) expect(delta.isWellFormed()).toBe(true)
      }
    }
  })

  test('edge 43: one character at a time', () => {
    const input = '*** Begin Patch\n+a "quoted" \\ line 😀\n*** End Patch'
    expect(custom(...JSON.stringify({ input }))).toBe(input)
  })

  test.each([
    ['free text', '*** Begin Patch\n{"input":"x"}'],
    ['a JSON string', '"text"'],
    ['an empty object', '{}'],
    ['nothing', ''],
    ['another key', '{"patch":"{\\"input\\":\\"x\\"}"}'],
    ['the key deeper', '{"a":{"input":"x"},"b":[{"input":"y"}]}'],
    ['a number', '{"input": 1}'],
    ['an object', '{"input":{"input":"x"}}'],
    ['a list', '[{"input":"x"}]'],
    ['code in braces', '{ const input = "x" }'],
    ['cut before the value', '{"inpu'],
  ])('edge 44: arguments that are %s are the input themselves', (_, text) => {
    expect(custom(text)).toBe(text)
    expect(custom(...text)).toBe(text)
  })

  test.each([
    ['keys before', '{"a":"\\"input\\":\\"x\\"","b":[{"c":"]}"}],"d":-1.5e3,"input":"y"}', 'y'],
    ['keys after', '{"input":"y","input2":"z"}', 'y'],
    ['an escaped key', '{"\\u0069nput":"y"}', 'y'],
    ['white space', '\n{\r\n "input"\t:\n"y" \n}\n', 'y'],
    ['empty text', '{"input":""}', ''],
    ['raw newlines', '{"input":"a\nb"}', 'a\nb'],
    ['a lone surrogate', '{"input":"a\\ud83d"}', 'a\ud83d'],
    ['a cut end', '{"input":"a\\u00', 'a'],
  ])('%s', (_, text, input) => {
    expect(custom(text)).toBe(input)
    expect(custom(...text)).toBe(input)
  })

  test('calls that interleave keep their own state', () => {
    const [startA, a1, a2, endA] = callEvents(0, 'functions__exec', '{"input":"a\\', 'n"}')
    const [startB, b1, b2, endB] = callEvents(1, 'functions__exec', '{"in', 'put":"b"}')
    const events = [startA, startB, a1, b1, a2, b2, endB, endA].filter(event => event !== undefined)
    const parts = collect(raise(events)).candidates[0]?.parts
    expect(parts).toMatchObject([{ input: 'a\n' }, { input: 'b' }])
  })

  test('whatever the object, its spelling and its cuts, the input is what JSON.parse would give', () => {
    const other = fc.dictionary(
      fc.string({ unit: 'binary' }).filter(key => key !== 'input' && key !== '__proto__'),
      fc.jsonValue(),
      { maxKeys: 3 },
    )
    const input = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(
        other,
        input,
        other,
        fc.boolean(),
        fc.array(fc.nat(200)),
        (before, text, after, spaced, cuts) => {
          const args = JSON.stringify({ ...before, input: text, ...after }, null, spaced ? 2 : 0)
          expect(custom(...cut(args, cuts))).toBe(text)
        },
      ),
      { numRuns: 500 },
    )
  })
})

function cut(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.filter(place => place < text.length).sort((a, b) => a - b), text.length]
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end))
}

test('what lowering did to a call, raising takes back', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.option(fc.string(), { nil: undefined }),
      fc.string(),
      (name, namespace, input) => {
        const tool = customTool(name, { namespace })
        const call = { kind: 'custom', name, namespace, input } as const
        const turn = {
          role: 'assistant',
          parts: [{ type: 'tool-call', callId: 'c', signature: undefined, cache: undefined, ...call }],
        } as const
        const lowered = lowerTools(request({ tools: [tool], turns: [turn] }), RULE)
        const part = lowered.request.turns[0]?.parts[0]
        if (part?.type !== 'tool-call') throw new Error('no call')
        const events = raiseTools(lowered.table)
        expect(callIn(runMachine(events, callEvents(0, part.name, part.input)))).toMatchObject(call)
      },
    ),
  )
})
