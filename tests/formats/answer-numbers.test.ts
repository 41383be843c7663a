import { describe, expect, test } from 'bun:test'
import { decodeContext, FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { compose, runMachine } from '@/generation/machine.ts'
import type { JsonObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'

/** Answers, as one chunk and whole, whose only candidate the upstream calls by this number. */
const MADE = {
  'openai-chat-completions': (index: number) => ({
    choices: [{ index, delta: { content: 'one' }, message: { content: 'one' }, finish_reason: 'stop' }],
  }),
  'gemini-generate-content': (index: number) => ({
    candidates: [{ index, content: { role: 'model', parts: [{ text: 'one' }] }, finishReason: 'STOP' }],
  }),
} as const satisfies Partial<Record<Format, (index: number) => JsonObject>>
type Numbering = keyof typeof MADE
const NUMBERING = Object.keys(MADE) as Numbering[]

function eventsOf(format: Numbering, chunks: readonly JsonObject[], answers: number): GenerationEvent[] {
  const decoder = CODECS[format].createStreamDecoder({ ...decodeContext(format), answers })
  return runMachine(
    decoder,
    chunks.map(chunk => ({ event: undefined, data: JSON.stringify(chunk) })),
  )
}

const numbersIn = (events: readonly GenerationEvent[]) => collect(events).candidates.map(({ index }) => index)

describe.each(NUMBERING)('of %s', format => {
  test.each(FORMATS)(
    'the only answer is the answer, whatever its number, whole and streamed, as %s',
    caller => {
      const { encodeResponse, createStreamEncoder } = CODECS[caller]
      const whole = CODECS[format].decodeResponse(MADE[format](1), { ...decodeContext(format), answers: 1 })
      expect(JSON.stringify(encodeResponse(whole, FULL_REPLY))).toContain('"one"')
      expect(whole.candidates.map(({ index }) => index)).toEqual([0])
      const events = eventsOf(format, [MADE[format](1), ...END[format]], 1)
      const written = runMachine(createStreamEncoder(FULL_REPLY), events).join('')
      // Read with its numbers as they are.
      const reader = CODECS[caller].createStreamDecoder({ ...decodeContext(caller), answers: 2 })
      const read = runMachine(compose(createSseParser(), reader), [Buffer.from(written)])
      expect(read.filter(({ type }) => type === 'error')).toEqual([])
      expect(collect(read).candidates).toMatchObject([{ index: 0, parts: [{ text: 'one' }] }])
    },
  )

  test('of several that were asked for each keeps its number, and one that was skipped is not made up', () => {
    const skipped = [MADE[format](2), MADE[format](1), ...END[format]]
    expect(numbersIn(eventsOf(format, skipped, 3))).toEqual([1, 2])
    const whole = CODECS[format].decodeResponse(MADE[format](1), { ...decodeContext(format), answers: 2 })
    expect(whole.candidates.map(({ index }) => index)).toEqual([1])
  })
})

/** What an answer of fewer candidates than were asked for ends in. */
const END: Record<Numbering, JsonObject[]> = {
  'openai-chat-completions': [{ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }],
  'gemini-generate-content': [],
}
