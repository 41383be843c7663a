import { expect, test } from 'bun:test'
import { decodeFinish } from '@/formats/openai-chat-completions/answer/finish.ts'
import type { StopReason } from '@/generation/response.ts'

const finishOf = (word: string, calls: boolean) =>
  decodeFinish({ finish_reason: word }, { calls, refused: false }).reason

test.each<[string, StopReason]>([
  ['stop', 'end'],
  ['eos', 'end'],
  ['eos_token', 'end'],
  ['end_turn', 'end'],
  ['complete', 'end'],
  ['tool_calls', 'end'],
  ['function_call', 'end'],
  ['tool_use', 'end'],
  ['TOOL_USE', 'end'],
  ['', 'end'],
  ['a new word', 'other'],
])('%j ends an answer without calls as %s, and leaves calls waiting to be run', (word, reason) => {
  expect(finishOf(word, false)).toBe(reason)
  expect(finishOf(word, true)).toBe('tool-calls')
})

test.each<[string, StopReason]>([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['incomplete', 'length'],
  ['model_length', 'context-length'],
  ['model_context_window_exceeded', 'context-length'],
  ['content_filter', 'content-filter'],
  ['safety', 'content-filter'],
  ['sensitive', 'content-filter'],
  ['stop_sequence', 'stop-sequence'],
  ['refusal', 'refusal'],
  ['pause_turn', 'pause'],
  ['malformed_function_call', 'malformed-tool-call'],
])('%j is %s, whether there are calls or not', (word, reason) => {
  expect([finishOf(word, false), finishOf(word, true)]).toEqual([reason, reason])
})
