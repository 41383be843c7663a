import { describe, expect, test } from 'bun:test'
import { USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import { runMachine } from '@/generation/machine.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'
import { decodeChunks, targetOf } from './fixtures.ts'

const chat = CODECS['openai-chat-completions']
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' }
const WIRE: JsonObject = {
  input: [
    { role: 'user', content: 'go' },
    { type: 'custom_tool_call', call_id: 'old', name: 'exec', input: 'a "b"\n' },
    { type: 'custom_tool_call_output', call_id: 'old', output: 'done' },
  ],
  tools: [
    { type: 'custom', name: 'exec', description: 'Runs', format: GRAMMAR },
    { type: 'custom', name: 'say', format: { type: 'text' } },
    { type: 'function', name: 'read', parameters: {}, strict: false },
  ],
  tool_choice: { type: 'custom', name: 'exec' },
}

/** A Responses caller's request as an upstream of Chat Completions is sent it. */
function sent(model: string, vendor: string, functionToolsOnly = false) {
  const request = CODECS['openai-responses'].decodeRequest(WIRE, { model: 'm', stream: true })
  return lowerRequest(request, chat, targetOf(model, vendor), { ...USUAL_HABITS, functionToolsOnly })
}

const typesOf = (body: JsonObject) => asArray(body['tools']).map(tool => asObject(tool)?.['type'])

describe('a custom tool', () => {
  test('stays one at OpenAI, with its grammar, its calls and the choice of it', () => {
    const { body, losses } = sent('gpt-5.1', 'openai')
    const { type: _, ...grammar } = GRAMMAR
    expect(body['tools']).toEqual([
      {
        type: 'custom',
        custom: { name: 'exec', description: 'Runs', format: { type: 'grammar', grammar } },
      },
      { type: 'custom', custom: { name: 'say' } },
      {
        type: 'function',
        function: { name: 'read', parameters: { type: 'object', properties: {} }, strict: false },
      },
    ])
    expect(body['tool_choice']).toEqual({ type: 'custom', custom: { name: 'exec' } })
    expect(asArray(body['messages']).slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'old', type: 'custom', custom: { name: 'exec', input: 'a "b"\n' } }],
      },
      { role: 'tool', tool_call_id: 'old', content: 'done' },
    ])
    expect(losses).toEqual([])
  })

  test.each([
    ['an OpenAI model before gpt-5', 'gpt-4.1', 'openai', false],
    ['a model of the o-series', 'o3', 'openai', false],
    ['another vendor', 'gpt-5.1', 'openrouter.ai', false],
    ['a channel that takes functions only', 'gpt-5.1', 'openai', true],
  ])('is a function for %s', (_, model, vendor, functionToolsOnly) => {
    const { body } = sent(model, vendor, functionToolsOnly)
    expect(typesOf(body)).toEqual(['function', 'function', 'function'])
    expect(body['tool_choice']).toEqual({ type: 'function', function: { name: 'exec' } })
    expect(asArray(body['messages'])[1]).toMatchObject({
      tool_calls: [{ type: 'function', function: { arguments: '{"input":"a \\"b\\"\\n"}' } }],
    })
  })

  test('streams its input back as it comes, escapes and all', () => {
    const call = (fields: JsonObject) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...fields }] } }],
    })
    const events = decodeChunks([
      call({ id: 'c1', type: 'custom', custom: { name: 'exec', input: '' } }),
      call({ custom: { input: '{"input": "a' } }),
      call({ custom: { input: '\\n\u{1f600}"' } }),
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      '[DONE]',
    ])
    const { createRaiser } = sent('gpt-5.1', 'openai')
    const raised = createRaiser === undefined ? events : runMachine(createRaiser(), events)
    expect(collect(raised).candidates[0]?.parts).toMatchObject([
      { type: 'tool-call', kind: 'custom', callId: 'c1', name: 'exec', input: '{"input": "a\\n\u{1f600}"' },
    ])
  })
})
