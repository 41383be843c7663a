import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { callEvents } from '#tests/formats/tools/fixtures.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { emulateStop, unwrapOutputTool } from '@/formats/lowering/emulation.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import { replay } from '@/generation/replay.ts'
import type { StopReason } from '@/generation/response.ts'
import { NO_USAGE } from '@/generation/usage.ts'

function text(pieces: readonly string[], block = 0, candidate = 0): GenerationEvent[] {
  return [
    { type: 'text-start', block, candidate },
    ...pieces.map(piece => ({ type: 'text-delta', block, text: piece }) as const),
    { type: 'text-end', block, signature: undefined },
  ]
}

function finish(reason: StopReason, candidate = 0, stopSequence?: string): GenerationEvent {
  return { type: 'finish', candidate, finish: { reason, stopSequence, message: undefined } }
}

const usage: GenerationEvent = { type: 'usage', usage: { ...NO_USAGE, outputText: 5 } }
const error: GenerationEvent = { type: 'error', error: new GatewayError('upstream_error', 'cut') }
const stopped = (stop: readonly string[], events: Iterable<GenerationEvent>) =>
  runMachine(emulateStop(stop), events)

describe('stop sequences', () => {
  test('the text is cut, the block ends, the finish names the sequence, usage passes', () => {
    expect(stopped(['END'], [...text(['one E', 'ND two', ' three']), finish('end'), usage])).toEqual([
      ...text(['one ']),
      finish('stop-sequence', 0, 'END'),
      usage,
    ])
  })

  test('text that only looks like the start of a sequence comes through whole', () => {
    const events = [...text(['a E', 'N', 'X EN']), finish('end')]
    expect(stopped(['END'], events)).toEqual([...text(['a ', 'ENX ', 'EN']), finish('end')])
  })

  test('text in which no sequence can begin passes as the same event', () => {
    const events = [...text(['abc', 'def']), finish('length')]
    for (const [index, event] of stopped(['END'], events).entries())
      expect(event).toBe(events[index] as GenerationEvent)
  })

  test('a sequence found at once leaves no empty delta', () => {
    expect(stopped(['\n'], text(['\nx']))).toEqual([...text([]), finish('stop-sequence', 0, '\n')])
  })

  test('the sequence that is complete first wins, and the longer of two that end together', () => {
    const cutBy = (stop: string[]) => collect(stopped(stop, text(['x', 'a', 'b', 'y']))).candidates[0]
    expect(cutBy(['xaby', 'ab'])).toMatchObject({ parts: [{ text: 'x' }], finish: { stopSequence: 'ab' } })
    expect(cutBy(['b', 'ab'])).toMatchObject({ parts: [{ text: 'x' }], finish: { stopSequence: 'ab' } })
  })

  test('reasoning and tool input are not searched', () => {
    const events: GenerationEvent[] = [
      { type: 'reasoning-start', block: 0, candidate: 0, id: undefined, raw: false, redacted: false },
      { type: 'reasoning-paragraph', block: 0 },
      { type: 'reasoning-delta', block: 0, text: 'END' },
      { type: 'reasoning-end', block: 0, signature: undefined },
      ...callEvents('a', ['"END"'], 1),
      finish('tool-calls'),
    ]
    const machine = emulateStop(['END'])
    expect(runMachine(machine, events)).toEqual(events)
    expect(machine.hit).toBe(false)
  })

  test('what comes after the sequence is swallowed, tool calls and a failure included', () => {
    const events = [...text(['a END']), ...callEvents('a', ['{}'], 1), error]
    expect(stopped(['END'], events)).toEqual([...text(['a ']), finish('stop-sequence', 0, 'END')])
  })

  test('a call that is open when the text is cut ends', () => {
    const [start] = callEvents('a', [], 0)
    const events = [start, ...text(['END'], 1)].filter(event => event !== undefined)
    expect(stopped(['END'], events).map(event => event.type)).toEqual([
      'tool-input-start',
      'text-start',
      'tool-input-end',
      'text-end',
      'finish',
    ])
  })

  test('a cut of one candidate leaves the others alone, their failure too', () => {
    const events = [...text(['a END b'], 0, 0), ...text(['c'], 1, 1).slice(0, -1), error]
    expect(stopped(['END'], events)).toEqual([
      ...text(['a '], 0, 0),
      finish('stop-sequence', 0, 'END'),
      ...text(['c'], 1, 1).slice(0, -1),
      error,
    ])
  })

  test('text that was held back comes before a failure', () => {
    expect(stopped(['END'], [...text(['a EN']).slice(0, -1), error])).toEqual([
      ...text(['a ', 'EN']).slice(0, -1),
      error,
    ])
  })

  test('hit is told at once', () => {
    const machine = emulateStop(['b'])
    const hits = text(['a', 'b', 'c']).map(event => {
      machine.push(event, () => {})
      return machine.hit
    })
    expect(hits).toEqual([false, false, true, true, true])
  })

  test('empty sequences stop nothing', () => {
    const events = text(['abc'])
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
        const outputs = stopped(stop, [...text(deltas), finish('end')])
        const whole = stopped(stop, [...text([deltas.join('')]), finish('end')])
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
    const answer = collect([...text(['one END two']), finish('end'), usage])
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
    const events = [...callEvents('answer', ['{"a"', ':1.0}']), finish('tool-calls'), usage]
    expect(unwrapped(events)).toEqual([...text(['{"a"', ':1.0}']), finish('end'), usage])
  })

  test('without input it is an empty object', () => {
    expect(unwrapped(callEvents('answer', ['']))).toEqual(text(['', '{}']))
  })

  test('other calls keep their finish', () => {
    const events = [
      ...callEvents('answer', ['{}'], 0),
      ...callEvents('other', ['{}'], 1),
      finish('tool-calls'),
    ]
    expect(unwrapped(events)).toEqual([...text(['{}']), ...events.slice(3)])
  })

  test('an answer cut by length says so', () => {
    expect(unwrapped([...callEvents('answer', ['{"a']), finish('length')])).toEqual([
      ...text(['{"a']),
      finish('length'),
    ])
  })

  test('a second call is left out', () => {
    const events = [...callEvents('answer', ['{"a":1}'], 0), ...callEvents('answer', ['{"a":2}'], 1)]
    expect(unwrapped(events)).toEqual(text(['{"a":1}']))
  })

  test('an answer without the tool passes unchanged', () => {
    const events = [...text(['{}']), finish('end')]
    expect(unwrapped(events)).toEqual(events)
  })
})
