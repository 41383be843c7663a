import { describe, expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

const CONTEXT = { vendor: 'example', newId: () => 'id' }
/** What servers and proxies write into a 200 that is no answer of a model. */
const NONE: JsonObject[] = [
  {},
  { detail: 'Not Found' },
  { message: 'Service is down', ok: false },
  { usage: { input_tokens: 9, output_tokens: 9, prompt_tokens: 9, completion_tokens: 9 } },
  { output: 'text', content: 'text', choices: 'text', candidates: 'text' },
]

describe.each(FORMATS)('%s', format => {
  test.each(NONE)('%j in a 200 is no answer: another channel is asked, and no usage is read', body => {
    expect(() => CODECS[format].decodeResponse(body, CONTEXT)).toThrow(
      expect.objectContaining({ kind: 'upstream_error', retry: 'next-channel' }),
    )
    expect(CODECS[format].reportedUsage(body)).toBeUndefined()
  })
})

test.each([
  ['openai-responses', { object: 'response', status: 'completed', output: null }],
  ['anthropic-messages', { type: 'message', role: 'assistant', content: null, stop_reason: 'end_turn' }],
] as const)('%s: an empty list that is written as null is an answer of nothing', (format, body) => {
  expect(CODECS[format].decodeResponse(body, CONTEXT).candidates).toMatchObject([{ parts: [] }])
})
