import { describe, expect, test } from 'bun:test'
import { blankNullUsage } from '@/formats/openai-chat-completions/answer/unasked-usage.ts'

function blanked(events: string): string {
  const bytes = new Uint8Array(Buffer.from(events))
  blankNullUsage(bytes)
  return Buffer.from(bytes).toString()
}

const CHOICES = '"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]'

describe('"usage": null of a chunk becomes spaces', () => {
  test.each<[string, string, string]>([
    ['in front of OpenAI’s padding', `{${CHOICES},"usage":null,"obfuscation":"x"}`, ',"usage":null'],
    ['at the end', `{${CHOICES},"usage":null}`, ',"usage":null'],
    ['between others', `{${CHOICES},"usage":null,"created":1,"model":"m"}`, ',"usage":null'],
    ['with spaces', `{${CHOICES}, "usage": null}`, ', "usage": null'],
  ])('%s', (_where, chunk, member) => {
    const expected = chunk.replace(member, ' '.repeat(member.length))
    for (const end of ['\n\n', '\r\n\r\n', '\r\r']) {
      const event = `data: ${chunk}${end}`
      expect(blanked(event + event)).toBe(`data: ${expected}${end}`.repeat(2))
    }
    expect(JSON.parse(expected)).toEqual({ ...JSON.parse(chunk), usage: undefined })
  })
})

describe('stays as it is', () => {
  test.each([
    ['a usage', `{${CHOICES},"usage":{"total_tokens":1}}`],
    ['a chunk without it', `{${CHOICES}}`],
    ['text', `{"choices":[{"delta":{"content":${JSON.stringify(',"usage":null}\n')}}]}`],
    ['arguments', `{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"a":1,"usage":null}}}]}}]}`],
    ['a member of a choice', `{"choices":[{"delta":{},"usage":null}]}`],
    ['a member of another', `{${CHOICES},"x":{"id":"1","usage":null}}`],
    ['another member', `{${CHOICES},"usage_null":null,"x":{"a":"usage"}}`],
  ])('%s', (_what, chunk) => {
    const event = `data: ${chunk}\n\n`
    expect(blanked(event)).toBe(event)
  })

  test('what has no end', () => {
    expect(blanked(`data: {${CHOICES},"usage":null`)).toBe(`data: {${CHOICES},"usage":null`)
    expect(blanked(`data: {${CHOICES},"usage":`)).toBe(`data: {${CHOICES},"usage":`)
  })
})
