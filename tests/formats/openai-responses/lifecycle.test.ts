import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { call } from '#tests/formats/parts.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { type Part, reasoningPart, type Signature, type ToolCallKind, textPart } from '@/generation/part.ts'
import { replay } from '@/generation/replay.ts'
import type { StopReason } from '@/generation/response.ts'
import { dataOf, decodeStream, encodeStream, RECORDINGS, sdkFinal } from './fixtures.ts'
import { violations } from './lifecycle.ts'

test.each(RECORDINGS)('what is written of %s keeps every order rule', (_name, { request, stream }) => {
  expect(violations(dataOf(encodeStream(decodeStream(stream), request)))).toEqual([])
})

const text = fc.string({ unit: 'grapheme', maxLength: 12 })

const part: fc.Arbitrary<Part> = fc.oneof(
  text.map(textPart),
  text.map((value): Part => ({ type: 'refusal', text: value })),
  fc
    .record({
      texts: fc.array(text, { minLength: 1, maxLength: 3 }),
      raw: fc.boolean(),
      signature: fc.constantFrom<(Signature | undefined)[]>(undefined, {
        format: 'openai-responses',
        vendor: undefined,
        value: 'enc',
      }),
    })
    .map(reasoningPart),
  fc
    .record({
      kind: fc.constantFrom<ToolCallKind[]>('function', 'custom'),
      input: fc.json(),
      namespace: fc.constantFrom(undefined, 'group'),
    })
    .map(fields => call('', fields)),
)

const answer = fc.record({
  parts: fc.array(part, { maxLength: 6 }),
  /** Which open call goes on next; calls of one run of calls are interleaved by it. */
  order: fc.infiniteStream(fc.nat({ max: 5 })),
  reason: fc.constantFrom<StopReason[]>('end', 'tool-calls', 'length', 'content-filter', 'other'),
})

/** The events of these parts, runs of calls interleaved and every delta cut in two. */
function eventsOf(parts: readonly Part[], order: Iterator<number>, reason: StopReason): GenerationEvent[] {
  const named = parts.map((value, index) =>
    value.type === 'tool-call' ? { ...value, callId: `call_${index}` } : value,
  )
  const whole = replay({
    id: 'u',
    model: 'm',
    candidates: [
      {
        index: 0,
        parts: named,
        finish: { reason, stopSequence: undefined, message: undefined },
        logprobs: [],
      },
    ],
    usage: undefined,
    serviceTier: undefined,
  })
  const halves = whole.flatMap((event): GenerationEvent[] => {
    if (!('text' in event)) return [event]
    const middle = Math.floor(event.text.length / 2)
    return [
      { ...event, text: event.text.slice(0, middle) },
      { ...event, text: event.text.slice(middle) },
    ]
  })
  return interleaveCalls(halves, order)
}

function interleaveCalls(events: readonly GenerationEvent[], order: Iterator<number>): GenerationEvent[] {
  const mixed: GenerationEvent[] = []
  let open = new Map<number, GenerationEvent[]>()
  const drain = () => {
    const starts = [...open.values()].flatMap(queue => queue.shift() ?? [])
    mixed.push(...starts)
    while (open.size > 0) {
      const keys = [...open.keys()]
      const key = keys[Number(order.next().value) % keys.length] ?? 0
      const next = open.get(key)?.shift()
      if (next === undefined) open.delete(key)
      else mixed.push(next)
    }
    open = new Map()
  }
  for (const event of events) {
    if (event.type.startsWith('tool-input') && 'block' in event) {
      open.set(event.block, [...(open.get(event.block) ?? []), event])
    } else {
      drain()
      mixed.push(event)
    }
  }
  drain()
  return mixed
}

/** What an answer says, whatever it was cut into. */
function said(parts: readonly Part[]): unknown[] {
  return parts.map(value => {
    if (value.type === 'reasoning')
      return ['reasoning', value.texts, value.raw, value.signature !== undefined]
    if (value.type === 'tool-call') return [value.kind, value.name, value.namespace, value.input]
    return 'text' in value ? [value.type, value.text] : [value.type]
  })
}

test('any lawful answer is written in order, accepted by the SDK, and read back as it was', async () => {
  await fc.assert(
    fc.asyncProperty(answer, async ({ parts, order, reason }) => {
      const events = eventsOf(parts, order[Symbol.iterator](), reason)
      const written = encodeStream(events)
      expect(violations(dataOf(written))).toEqual([])
      await sdkFinal(written)
      const back = collect(decodeStream(Buffer.from(written))).candidates[0]?.parts ?? []
      const added = back.length - parts.length
      // An answer without a message gets an empty one; nothing else may be added.
      expect(said(back.slice(0, parts.length))).toEqual(said(collect(events).candidates[0]?.parts ?? []))
      expect(added === 0 || (added === 1 && said(back).at(-1)?.toString() === 'text,')).toBe(true)
    }),
    { numRuns: 60 },
  )
})
