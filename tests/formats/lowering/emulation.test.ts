import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { callEvents, finish, textEvents } from '#tests/formats/events.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { emulateStop, unwrapOutputTool } from '@/formats/lowering/emulation.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import { replay } from '@/generation/replay.ts'
import { NO_USAGE } from '@/generation/usage.ts'

const usage: GenerationEvent = { type: 'usage', usage: { ...NO_USAGE, outputText: 5 } }
const error: GenerationEvent = { type: 'error', error: new GatewayError('upstream_error', 'cut') }
const stopped = (stop: readonly string[], events: Iterable<GenerationEvent>) =>
  runMachine(emulateStop(stop), events)

describe('stop sequences', () => {
  test('the text is cut, the block ends, the finish names the sequence, usage passes', () => {
    expect(stopped(['END'], [...textEvents(0, 'one E', 'ND two', ' three'), finish('end'), usage])).toEqual([
      ...textEvents(0, 'one '),
      finish('stop-sequence', { stopSequence: 'END' }),
      usage,
    ])
  })

  test('text that only looks like the start of a sequence comes through whole', () => {
    const events = [...textEvents(0, 'a E', 'N', 'X EN'), finish('end')]
    expect(stopped(['END'], events)).toEqual([...textEvents(0, 'a ', 'ENX ', 'EN'), finish('end')])
  })

  test('text in which no sequence can begin passes as the same event', () => {
    const events = [...textEvents(0, 'abc', 'def'), finish('length')]
    for (const [index, event] of stopped(['END'], events).entries())
      expect(event).toBe(events[index] as GenerationEvent)
  })

  test('a sequence found at once leaves no empty delta', () => {
    expect(stopped(['\n'], textEvents(0, '\nx'))).toEqual([
      ...textEvents(0),
      finish('stop-sequence', { stopSequence: '\n' }),
    ])
  })

  test('the sequence that is complete first wins, and the longer of two that end together', () => {
    const cutBy = (stop: string[]) => collect(stopped(stop, textEvents(0, 'x', 'a', 'b', 'y'))).candidates[0]
    expect(cutBy(['xaby', 'ab'])).toMatchObject({ parts: [{ text: 'x' }], finish: { stopSequence: 'ab' } })
    expect(cutBy(['b', 'ab'])).toMatchObject({ parts: [{ text: 'x' }], finish: { stopSequence: 'ab' } })
  })

  test('reasoning and tool input are not searched', () => {
    const events: GenerationEvent[] = [
      { type: 'reasoning-start', block: 0, candidate: 0, id: undefined, raw: false, redacted: false },
      { type: 'reasoning-paragraph', block: 0 },
      { type: 'reasoning-delta', block: 0, text: 'END' },
      { type: 'reasoning-end', block: 0, signature: undefined },
      ...callEvents(1, 'a', '"END"'),
      finish('tool-calls'),
    ]
    const machine = emulateStop(['END'])
    expect(runMachine(machine, events)).toEqual(events)
    expect(machine.hit).toBe(false)
  })

  test('what comes after the sequence is swallowed, tool calls and a failure included', () => {
    const events = [...textEvents(0, 'a END'), ...callEvents(1, 'a', '{}'), error]
    expect(stopped(['END'], events)).toEqual([
      ...textEvents(0, 'a '),
      finish('stop-sequence', { stopSequence: 'END' }),
    ])
  })

  test('a call that is open when the text is cut ends', () => {
    const [start] = callEvents(0, 'a')
    const events = [start, ...textEvents(1, 'END')].filter(event => event !== undefined)
    expect(stopped(['END'], events).map(event => event.type)).toEqual([
      'tool-input-start',
      'text-start',
      'tool-input-end',
      'text-end',
      'finish',
    ])
  })

  test('a cut of one candidate leaves the others alone, their failure too', () => {
    const other: GenerationEvent[] = [
      { type: 'text-start', block: 1, candidate: 1 },
      { type: 'text-delta', block: 1, text: 'c' },
    ]
    const events = [...textEvents(0, 'a END b'), ...other, error]
    expect(stopped(['END'], events)).toEqual([
      ...textEvents(0, 'a '),
      finish('stop-sequence', { stopSequence: 'END' }),
      ...other,
      error,
    ])
  })

  test('text that was held back comes before a failure', () => {
    expect(stopped(['END'], [...textEvents(0, 'a EN').slice(0, -1), error])).toEqual([
      ...textEvents(0, 'a ', 'EN').slice(0, -1),
      error,
    ])
  })

  test('hit is told at once', () => {
    const machine = emulateStop(['b'])
    const hits = textEvents(0, 'a', 'b', 'c').map(event => {
      machine.push(event, () => {})
      return machine.hit
    })
    expect(hits).toEqual([false, false, true, true, true])
  })

  test('empty sequences stop nothing', () => {
    const events = textEvents(0, 'abc')
    expect(stopped([''], events)).toEqual(events)
  })

  test('whatever the pieces, the answer is what cutting the whole text gives', () => {
    const letters = fc.constantFrom('a', 'b', '😀', '😁', '\n')
    const sequence = fc.array(letters, { minLength: 1, maxLength: 3 }).map(units => units.join(''))
    const pieces = fc.array(
      fc.array(letters, { maxLength: 4 }).map(units => units.join('')),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(fc.array(sequence, { maxLength: 3 }), pieces, (stop, deltas) => {
        const outputs = stopped(stop, [...textEvents(0, ...deltas), finish('end')])
        const whole = stopped(stop, [...textEvents(0, deltas.join('')), finish('end')])
        expect(collect(outputs)).toEqual(collect(whole))
        for (const event of outputs)
          if (event.type === 'text-delta') expect(event.text.isWellFormed()).toBe(true)
        const [part] = collect(outputs).candidates[0]?.parts ?? []
        for (const each of stop) expect(part?.type === 'text' && part.text.includes(each)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  test('a whole answer is cut through its events', () => {
    const answer = collect([...textEvents(0, 'one END two'), finish('end'), usage])
    const cut = collect(stopped(['END'], replay(answer)))
    expect(cut.candidates[0]).toMatchObject({
      parts: [{ text: 'one ' }],
      finish: { reason: 'stop-sequence' },
    })
    expect(cut.usage?.outputText).toBe(5)
  })
})

describe('the output tool', () => {
  const unwrapped = (events: Iterable<GenerationEvent>) => runMachine(unwrapOutputTool('answer'), events)

  test('its call becomes text and the finish an end', () => {
    const events = [...callEvents(0, 'answer', '{"a"', ':1.0}'), finish('tool-calls'), usage]
    expect(unwrapped(events)).toEqual([...textEvents(0, '{"a"', ':1.0}'), finish('end'), usage])
  })

  test('without input it is an empty object', () => {
    expect(unwrapped(callEvents(0, 'answer', ''))).toEqual(textEvents(0, '', '{}'))
  })

  test('other calls keep their finish', () => {
    const events = [...callEvents(0, 'answer', '{}'), ...callEvents(1, 'other', '{}'), finish('tool-calls')]
    expect(unwrapped(events)).toEqual([...textEvents(0, '{}'), ...events.slice(3)])
  })

  test('an answer cut by length says so', () => {
    expect(unwrapped([...callEvents(0, 'answer', '{"a'), finish('length')])).toEqual([
      ...textEvents(0, '{"a'),
      finish('length'),
    ])
  })

  test('a second call is left out, though it counts', () => {
    const events = [...callEvents(0, 'answer', '{"a":1}'), ...callEvents(1, 'answer', '{"a":2}')]
    expect(unwrapped(events)).toEqual([...textEvents(0, '{"a":1}'), { type: 'withheld', bytes: 7 }])
  })

  test('an answer without the tool passes unchanged', () => {
    const events = [...textEvents(0, '{}'), finish('end')]
    expect(unwrapped(events)).toEqual(events)
  })
})
