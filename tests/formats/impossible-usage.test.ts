import { describe, expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import { inputTokens, MOST_COUNT, outputTokens, type Usage } from '@/generation/usage.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

/** The least of a whole answer, with its counts as a format spells them. */
const ANSWERS: Record<Format, (input: JsonValue, output: JsonValue, total: JsonValue) => JsonObject> = {
  'openai-chat-completions': (input, output, total) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: total },
  }),
  'openai-responses': (input, output, total) => ({
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: input, output_tokens: output, total_tokens: total },
  }),
  'anthropic-messages': (input, output) => ({
    type: 'message',
    content: [],
    stop_reason: 'end_turn',
    usage: { input_tokens: input, output_tokens: output },
  }),
  'gemini-generate-content': (input, output, total) => ({
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: total },
  }),
}

describe.each(Object.keys(ANSWERS) as Format[])('%s', format => {
  const { reportedUsage, decodeResponse } = CODECS[format]

  function read(input: JsonValue, output: JsonValue, total: JsonValue = null): (Usage | undefined)[] {
    const body = ANSWERS[format](input, output, total)
    return [reportedUsage(body), decodeResponse(body, { vendor: 'example', newId: () => 'id' }).usage]
  }

  test.each([
    [-1, 5],
    [5, -1],
    [MOST_COUNT + 1, 5],
    [5, 1e15],
    [5, Number.POSITIVE_INFINITY],
    [Number.NaN, 5],
    ['1000', 5],
    [1000, '5'],
    [{}, 5],
    [1000, [5]],
    [true, 5],
  ])('a report of %j and %j tokens is none', (input, output) => {
    expect(read(input, output)).toEqual([undefined, undefined])
  })

  test.each([
    [1000, null],
    [null, 5],
    [null, null],
  ])(
    'a report of %j and %j tokens tells one side at most, and is none: the other is not free',
    (input, output) => {
      expect(read(input, output)).toEqual([undefined, undefined])
    },
  )

  // Messages has no total.
  const mayTotal = format === 'anthropic-messages' ? [] : ['the total']
  test.each(mayTotal)('one side may be told by %s', () => {
    for (const usage of [...read(1000, null, 1005), ...read(null, 5, 1005)]) {
      expect(usage && [inputTokens(usage), outputTokens(usage)]).toEqual([1000, 5])
    }
  })

  test('a report of fractions is one of whole tokens', () => {
    for (const usage of read(10.5, 5.9)) {
      expect(usage && [inputTokens(usage), outputTokens(usage)]).toEqual([10, 5])
    }
  })

  test('the largest report that can be is one', () => {
    for (const usage of read(MOST_COUNT, MOST_COUNT)) {
      expect(usage && [inputTokens(usage), outputTokens(usage)]).toEqual([MOST_COUNT, MOST_COUNT])
    }
  })
})
