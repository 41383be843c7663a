import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { call } from '#tests/formats/parts.ts'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { type Part, reasoningPart, type Signature, textPart } from '@/generation/part.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { replyContext, written } from './fixtures.ts'
import { accumulate } from './sdk.ts'

const signature: fc.Arbitrary<Signature | undefined> = fc.constantFrom(
  undefined,
  { format: 'gemini-generate-content', vendor: 'google', value: 'c2ln' } as const,
  { format: 'openai-responses', vendor: 'openai', value: 'enc' } as const,
)

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.string().map(textPart),
  fc.string().map(text => ({ type: 'refusal' as const, text })),
  fc
    .record({
      texts: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
      raw: fc.boolean(),
      redacted: fc.boolean(),
      signature,
    })
    .map(reasoningPart),
  fc
    .record({
      callId: fc.string({ minLength: 1 }),
      name: fc.constantFrom('f', 'g'),
      input: fc.dictionary(fc.string(), fc.string()).map(input => JSON.stringify(input)),
      signature,
    })
    .map(({ callId, ...fields }) => call(callId, fields)),
)

function response(parts: readonly Part[]): GenerationResponse {
  const finish = { reason: 'end', stopSequence: undefined, message: undefined } as const
  const usage = { ...NO_USAGE, inputUncached: 3, outputText: 5 }
  const candidates = [{ index: 0, parts, finish, logprobs: [] }]
  return { id: 'x', model: 'm', candidates, usage, serviceTier: undefined }
}

/** The same answer with the events of its blocks shuffled into one another, each block in its own order. */
function interleaved(events: readonly GenerationEvent[], choices: readonly number[]): GenerationEvent[] {
  const queues = new Map<number, GenerationEvent[]>()
  const [start, ...rest] = events
  const outside = rest.filter(event => !('block' in event))
  for (const event of rest) {
    if ('block' in event) queues.set(event.block, [...(queues.get(event.block) ?? []), event])
  }
  const mixed: GenerationEvent[] = start === undefined ? [] : [start]
  let begun = 0
  for (let step = 0; queues.size > 0; step += 1) {
    const open = [...queues.keys()]
    // Blocks begin in their order: only one beyond those begun may be chosen.
    const candidates = open.filter(block => block <= begun)
    const block = candidates[(choices[step % choices.length] ?? 0) % candidates.length] ?? open[0] ?? 0
    const queue = queues.get(block) ?? []
    const event = queue.shift()
    if (event !== undefined) mixed.push(event)
    if (block === begun) begun += 1
    if (queue.length === 0) queues.delete(block)
  }
  return [...mixed, ...outside]
}

test('the official SDK reads any stream, however its blocks interleave, as the whole answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 6 }),
      fc.array(fc.nat(5), { minLength: 1, maxLength: 12 }),
      async (parts, choices) => {
        const answer = response(parts)
        const whole = anthropicMessages.encodeResponse(answer, replyContext())
        const message = await accumulate(written(interleaved(replay(answer), choices)))
        expect(message.content as unknown).toEqual(whole['content'])
        expect(message.stop_reason as unknown).toBe(whole['stop_reason'])
        expect(message.usage.output_tokens).toBe(5)
      },
    ),
    { numRuns: 150 },
  )
})
