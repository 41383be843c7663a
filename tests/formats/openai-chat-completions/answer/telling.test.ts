import { describe, expect, test } from 'bun:test'
import { isTelling } from '@/formats/openai-chat-completions/answer/telling.ts'

describe('an event tells something', () => {
  test.each([
    ['data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n'],
    ['data: {"choices":[], "usage" : {"prompt_tokens":1}}\n\n'],
    ['data: {"usage":null,"x_groq":{"usage":{"prompt_tokens":1}}}\n\n'],
    ['data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'],
    ['data: {"error":{"message":"m"}}\n\n'],
    [
      'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}}]}\n\n',
    ],
    ['data: {"choices":[{"delta":{"function_call":{"name": "f","arguments":""}}}]}\n\n'],
    ['event: error\ndata: {"message":"m"}\n\n'],
    ['data: [DONE]\n\n'],
  ])('%j', event => {
    expect(isTelling(Buffer.from(event))).toBe(true)
  })
})

describe('an event tells nothing', () => {
  test.each([
    ['data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}],"usage":null}\n\n'],
    ['data: {"choices":[{"delta":{"content":"a"},"finish_reason":""}],"error":null}\n\n'],
    [`data: ${JSON.stringify({ content: '"usage":{"error":1}, "finish_reason":"stop"' })}\n\n`],
    [
      'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":null,"arguments":"a"}}]}}]}\n\n',
    ],
    [': keepalive\n\n'],
  ])('%j', event => {
    expect(isTelling(Buffer.from(event))).toBe(false)
  })
})
