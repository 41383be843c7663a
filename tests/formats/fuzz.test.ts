import { expect, test } from 'bun:test'
import { type Finding, fuzzOnce } from '#tests/support/streams/fuzz.ts'
import { unlawful } from '#tests/support/streams/lawful.ts'

const STREAMS = 3000

test(`${STREAMS} mutated streams end lawfully or in an in-band error, and nothing throws or hangs`, () => {
  const findings: Finding[] = []
  for (let seed = 0; seed < STREAMS; seed += 1) {
    const finding = fuzzOnce(seed)
    if (finding !== undefined) findings.push(finding)
  }
  expect(findings).toEqual([])
}, 600_000)

test.each([
  ['openai-chat-completions', 'data: [DONE]\n\n'],
  [
    'openai-chat-completions',
    'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\ndata: [DONE]\n\n',
  ],
  ['openai-responses', 'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n'],
  ['anthropic-messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
  ['gemini-generate-content', 'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n'],
  ['gemini-generate-content', 'data: {"candidates":[{"content":{"parts":[{}]},"finishReason":"STOP"}]}\n\n'],
] as const)('the law is no rubber stamp: %s %s is against it', (format, stream) => {
  expect(unlawful(format, stream)).not.toEqual([])
})
