import { expect, test } from 'bun:test'
import { decodeContext } from '#tests/transcripts/conversion.ts'
import type { DecodeContext } from '@/formats/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import { takenCallIds } from '@/formats/tools/call-ids.ts'
import { collect } from '@/generation/collect.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { compose, runMachine } from '@/generation/machine.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import type { JsonObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'

/** An answer that calls twice. */
const ANSWERS: Record<Format, JsonObject> = {
  'openai-chat-completions': {
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: ['look:0', 'look:1'].map(id => ({
            id,
            type: 'function',
            function: { name: 'look', arguments: '{}' },
          })),
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  'openai-responses': {
    status: 'completed',
    output: ['look:0', 'look:1'].map(call_id => ({
      type: 'function_call',
      call_id,
      name: 'look',
      arguments: '{}',
    })),
  },
  'anthropic-messages': {
    type: 'message',
    role: 'assistant',
    content: ['look:0', 'look:1'].map(id => ({ type: 'tool_use', id, name: 'look', input: {} })),
    stop_reason: 'tool_use',
  },
  'gemini-generate-content': {
    candidates: [
      {
        content: {
          parts: ['look:0', 'look:1'].map(id => ({ functionCall: { id, name: 'look', args: {} } })),
        },
        finishReason: 'STOP',
      },
    ],
  },
}

const idsOf = ({ candidates: [candidate] }: GenerationResponse) =>
  takenCallIds([{ role: 'assistant', parts: candidate?.parts ?? [] }])

test.each(FORMATS)('a call of %s whose id the conversation has already gets another', format => {
  const context: DecodeContext = { ...decodeContext(format), takenIds: ['look:0'] }
  const answer = CODECS[format].decodeResponse(ANSWERS[format], context)
  expect(idsOf(answer)).toEqual(['call_made1', 'look:1'])
})

test('pieces of a call that repeat its id stay together though it gets another', () => {
  const format = 'openai-chat-completions'
  const piece = (input: string) => ({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'look:0', function: { name: 'look', arguments: input } }] },
      },
    ],
  })
  const chunks = [
    piece('{"at":'),
    piece('1}'),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]
  const stream = [...chunks.map(chunk => JSON.stringify(chunk)), '[DONE]'].map(data => `data: ${data}\n\n`)
  const decoder = CODECS[format].createStreamDecoder({ ...decodeContext(format), takenIds: ['look:0'] })
  const answer = collect(runMachine(compose(createSseParser(), decoder), [Buffer.from(stream.join(''))]))
  expect(answer.candidates[0]?.parts).toMatchObject([{ callId: 'call_made1', input: '{"at":1}' }])
})
