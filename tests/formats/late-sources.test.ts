import { describe, expect, test } from 'bun:test'
import { callEvents, finish, START, textEvents } from '#tests/formats/events.ts'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { decodeContext, REQUEST_ID } from '#tests/transcripts/conversion.ts'
import { emulateStop } from '@/formats/lowering/emulation.ts'
import { splitThinkTags } from '@/formats/lowering/think-tags.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import type { Citation } from '@/generation/part.ts'
import { createSseParser } from '@/sse/parser.ts'

const citation: Citation = {
  url: 'https://a.example',
  title: 'A',
  citedText: 'abc',
  start: 0,
  end: 3,
  wire: undefined,
}

/** A text, a call, and then what is said of the text. */
const LATE: GenerationEvent[] = [
  START,
  ...textEvents(0, 'abc'),
  ...callEvents(1, 'f', '{}'),
  { type: 'text-citation', block: 0, citation },
  { type: 'logprobs', candidate: 0, content: [{ token: 'abc', logprob: -1, bytes: null, top_logprobs: [] }] },
  finish('tool-calls'),
]

function written(format: Format): string {
  const reply = {
    requestId: REQUEST_ID,
    createdAt: 1_763_650_800,
    model: 'm',
    request: { reasoning: undefined },
    wire: {},
    estimatedInputTokens: undefined,
  }
  return runMachine(CODECS[format].createStreamEncoder(reply), LATE).join('')
}

function readBack(format: Format) {
  const events = runMachine(createSseParser(), [Buffer.from(written(format))])
  return collect(runMachine(CODECS[format].createStreamDecoder(decodeContext(format)), events)).candidates[0]
}

describe('what is told of a text that has ended', () => {
  test.each(FORMATS)('leaves the stream of %s lawful', format => {
    expect(unlawful(format, written(format))).toEqual([])
  })

  test.each(['openai-chat-completions', 'gemini-generate-content'] as const)(
    'is a source of that text in %s',
    format => {
      const cited = { text: 'abc', citations: [{ url: 'https://a.example', start: 0, end: 3 }] }
      expect(readBack(format)?.parts).toMatchObject([cited, { type: 'tool-call' }])
    },
  )

  test.each(['openai-responses', 'anthropic-messages'] as const)(
    'has an empty text of its own in %s, whose items and blocks are done one after another',
    format => {
      expect(readBack(format)?.parts).toMatchObject([
        { text: 'abc', citations: [] },
        { type: 'tool-call' },
        { text: '', citations: [{ url: 'https://a.example' }] },
      ])
    },
  )

  test('keeps its log probabilities in the items of Responses', () => {
    expect(readBack('openai-responses')?.logprobs).toHaveLength(1)
  })

  test('passes what looks for stop sequences, unless the text was cut before', () => {
    const sources = (stop: string) =>
      runMachine(emulateStop([stop]), LATE).filter(({ type }) => type === 'text-citation').length
    expect(sources('END')).toBe(1)
    expect(sources('b')).toBe(0)
  })

  test('is told of the text that a thought was taken out of', () => {
    const thinking = LATE.map(event =>
      event.type === 'text-delta' ? { ...event, text: '<think>hm</think>abc' } : event,
    )
    const { candidates } = collect(runMachine(splitThinkTags('both'), thinking))
    expect(candidates[0]?.parts).toMatchObject([
      { type: 'reasoning' },
      { text: 'abc', citations: [{ url: 'https://a.example' }] },
      { type: 'tool-call' },
    ])
  })
})
