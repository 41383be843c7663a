import { describe, expect, test } from 'bun:test'
import { callEnd, callStart, finish, input, START } from '#tests/formats/events.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { BlockQueue } from '@/formats/block-queue.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import { mediaPart } from '@/generation/part.ts'
import { asObject } from '@/json/json.ts'
import { dataOf, encodeStream } from './openai-responses/fixtures.ts'

const begin = (block: number) => callStart(block, `f${block}`)
const textStart = (block: number): GenerationEvent => ({ type: 'text-start', block, candidate: 0 })
const textDelta = (block: number, text: string): GenerationEvent => ({ type: 'text-delta', block, text })
const textEnd = (block: number): GenerationEvent => ({ type: 'text-end', block, signature: undefined })
const FINISH = finish('tool-calls')

const queued = (...events: GenerationEvent[]) =>
  runMachine(new BlockQueue(new Set(['tool-input-start'] as const)), events).filter(
    ({ type }) => type !== 'withheld',
  )

describe('blocks of which one is open at a time', () => {
  test('are written whole one after another, though their upstream ends them all at once', () => {
    // As Chat tells two calls.
    const written = dataOf(
      encodeStream([
        START,
        begin(0),
        input(0, '{"a":'),
        begin(1),
        input(1, '{"b":2}'),
        input(0, '1}'),
        callEnd(0),
        callEnd(1),
        FINISH,
      ]),
    )
    const told = written.flatMap(event => {
      const index = event['output_index']
      return index === undefined ? [] : [`${index} ${event['type']}`]
    })
    const part = (index: number, deltas: number) => [
      `${index} response.output_item.added`,
      ...Array.from({ length: deltas }, () => `${index} response.function_call_arguments.delta`),
      `${index} response.function_call_arguments.done`,
      `${index} response.output_item.done`,
    ]
    expect(told).toEqual([...part(0, 2), ...part(1, 1)])
    expect(asObject(written.at(-1)?.['response'])?.['output']).toMatchObject([
      { name: 'f0', arguments: '{"a":1}' },
      { name: 'f1', arguments: '{"b":2}' },
    ])
  })

  test('flow as they come while none waits', () => {
    const events = [begin(0), input(0, '{}'), callEnd(0), begin(1), input(1, '{}'), callEnd(1), FINISH]
    expect(queued(...events)).toEqual(events)
  })

  test('keep the order of what began behind them, and a text that was open before goes on', () => {
    const before = [textStart(0), begin(1), textDelta(0, 'a')]
    const late = [begin(2), textStart(3), textDelta(3, 'b'), textEnd(3), callEnd(2)]
    expect(queued(...before, ...late, textDelta(0, 'c'), callEnd(1), FINISH)).toEqual([
      ...before,
      textDelta(0, 'c'),
      callEnd(1),
      ...[begin(2), callEnd(2), textStart(3), textDelta(3, 'b'), textEnd(3)],
      FINISH,
    ])
  })

  test('wait with what is whole at once, where that is of their kinds', () => {
    const image: GenerationEvent = {
      type: 'media',
      block: 1,
      candidate: 0,
      media: mediaPart({ kind: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } }),
    }
    const text = [textStart(0), textDelta(0, 'a'), textEnd(0)]
    const queue = new BlockQueue(new Set(['text-start', 'media'] as const))
    const events = [textStart(0), image, textStart(2), textDelta(0, 'a'), textEnd(0), textEnd(2), FINISH]
    expect(runMachine(queue, events)).toEqual([...text, image, textStart(2), textEnd(2), FINISH])
  })

  test.each([
    ['the finish', [FINISH]],
    ['an error', [{ type: 'error', error: new GatewayError('upstream_error', 'x') } as const]],
    ['the end', []],
  ])('are all told before %s, where one never ended', (_what, last) => {
    const calls = [begin(0), begin(1), input(1, '{'), begin(2)]
    expect(queued(...calls, ...last)).toEqual([...calls, ...last])
  })
})
