import fc from 'fast-check'
import { call } from '#tests/formats/parts.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { type Part, reasoningPart, textPart } from '@/generation/part.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'
import { argumentsText, words } from './conversations.ts'

const part: fc.Arbitrary<Part> = fc.oneof(
  words.map(textPart),
  words.map(text => ({ type: 'refusal' as const, text })),
  words.map(text => reasoningPart({ texts: [text] })),
  fc
    .tuple(fc.constantFrom('get_weather', 'now'), argumentsText)
    .map(([name, input]) => call('', { name, input })),
)

const usage: fc.Arbitrary<Usage> = fc
  .record({ inputUncached: fc.nat(9), cacheRead: fc.nat(9), outputText: fc.nat(9), reasoning: fc.nat(9) })
  .map(counts => ({ ...NO_USAGE, ...counts }))

/** A whole answer of what the four formats have in common. */
export const answer: fc.Arbitrary<GenerationResponse> = fc
  .record({
    parts: fc.array(part, { minLength: 1, maxLength: 6 }),
    usage,
    isLong: fc.boolean(),
  })
  .map(({ parts, usage, isLong }) => {
    const hasCalls = parts.some(({ type }) => type === 'tool-call')
    const reason = isLong ? 'length' : hasCalls ? 'tool-calls' : 'end'
    const named = parts.map((each, index) =>
      each.type === 'tool-call' ? { ...each, callId: `call_${index}` } : each,
    )
    const finish = { reason, stopSequence: undefined, message: undefined } as const
    const candidates = [{ index: 0, parts: named, finish, logprobs: [] }]
    return { id: 'a', model: 'm', candidates, usage, serviceTier: undefined }
  })

/** The answer as a lawful stream: deltas of any size, and neighbouring calls told at the same time. */
export function told(response: GenerationResponse, choices: readonly number[]): GenerationEvent[] {
  let step = 0
  const choose = (below: number): number => {
    step += 1
    return (choices[step % choices.length] ?? 0) % below
  }
  const events = replay(response).flatMap(event => cut(event, choose))
  return interleaveCalls(events, choose)
}

type Choose = (below: number) => number

/** A delta as several; no surrogate pair is cut, which decoders see to. */
function cut(event: GenerationEvent, choose: Choose): GenerationEvent[] {
  if (!('text' in event) || event.text.length < 2) return [event]
  const characters = [...event.text]
  const pieces: GenerationEvent[] = []
  while (characters.length > 0) pieces.push({ ...event, text: characters.splice(0, 1 + choose(5)).join('') })
  return pieces
}

/** Runs of calls with their events mixed. A call begins after the one before it began. */
function interleaveCalls(events: readonly GenerationEvent[], choose: Choose): GenerationEvent[] {
  const mixed: GenerationEvent[] = []
  let calls: GenerationEvent[][] = []
  for (const event of events) {
    if (event.type === 'tool-input-start') calls.push([event])
    else if (event.type === 'tool-input-delta' || event.type === 'tool-input-end') calls.at(-1)?.push(event)
    else {
      mixed.push(...mix(calls, choose), event)
      calls = []
    }
  }
  return [...mixed, ...mix(calls, choose)]
}

function mix(calls: readonly GenerationEvent[][], choose: Choose): GenerationEvent[] {
  const mixed: GenerationEvent[] = []
  const hasBegun = (call: GenerationEvent[] | undefined) => call?.[0]?.type !== 'tool-input-start'
  for (;;) {
    const ready = calls.filter(
      (call, index) => call.length > 0 && (index === 0 || hasBegun(calls[index - 1])),
    )
    const event = ready[choose(Math.max(1, ready.length))]?.shift()
    if (event === undefined) return mixed
    mixed.push(event)
  }
}
