import { describe, expect, test } from 'bun:test'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import { lowerTools } from '@/formats/tools/lower.ts'
import { raiseTools } from '@/formats/tools/raise.ts'
import { compose, runMachine } from '@/generation/machine.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import { dataOf, decodeContext, finalOutput, replyContext, request, sdkFinal } from './fixtures.ts'

const read = { type: 'function', name: 'read', parameters: { type: 'object', properties: {} }, strict: false }
const WIRE: JsonObject = {
  model: 'm',
  input: [
    { role: 'user', content: 'go' },
    { type: 'custom_tool_call', call_id: 'old', name: 'exec', namespace: 'functions', input: 'a "b"\n' },
    { type: 'custom_tool_call_output', call_id: 'old', output: [{ type: 'input_text', text: 'done' }] },
  ],
  tools: [
    { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] },
    { type: 'namespace', name: 'mcp__files', tools: [read] },
    { type: 'namespace', name: `mcp__${'x'.repeat(70)}`, tools: [read] },
    { type: 'local_shell' },
    { type: 'shell' },
    { type: 'tool_search', execution: 'client', description: 'Finds tools', parameters: { type: 'object' } },
  ],
}

/** A function-only Responses upstream that calls every tool it was given, with these arguments. */
function upstreamEvents(body: JsonObject, args: readonly string[]): { event: string; data: string }[] {
  const names = asArray(body['tools']).map(tool => asString(asObject(tool)?.['name']) ?? '')
  const items = names.map((name, index) => ({
    type: 'function_call',
    id: `fc_${index}`,
    call_id: `call_${index}`,
    name,
    arguments: args[index] ?? '{}',
  }))
  const data: JsonObject[] = [
    { type: 'response.created', response: { id: 'r', model: 'up' } },
    ...items.flatMap((item, index): JsonObject[] => [
      { type: 'response.output_item.added', output_index: index, item: { ...item, arguments: '' } },
      ...[...item.arguments].map(delta => ({
        type: 'response.function_call_arguments.delta',
        output_index: index,
        delta,
      })),
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    { type: 'response.completed', response: { status: 'completed', output: items } },
  ]
  return data.map(event => ({ event: String(event['type']), data: JSON.stringify(event) }))
}

describe('an upstream that takes functions only', () => {
  const target = { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined }
  const names = openaiResponses.toolNames(target)
  const lowered = lowerTools(request(WIRE), names)
  const { body } = openaiResponses.encodeRequest(lowered.request, target)
  const input = 'quote " slash \\ line\n\u{1f600}'

  test('is given functions only, history included', () => {
    expect(asArray(body['tools']).map(tool => asObject(tool)?.['type'])).toEqual(Array(6).fill('function'))
    expect(asArray(body['input']).map(item => asObject(item)?.['type'])).toEqual([
      'message',
      'function_call',
      'function_call_output',
    ])
  })

  const said = [
    JSON.stringify({ input }),
    '{"path":"x"}',
    '{}',
    '{"command":["ls"],"workdir":"/tmp","timeout_ms":9,"env":{"A":"1"}}',
    '{"commands":["ls","pwd"]}',
    '{"query":"mail"}',
  ]
  const reply = (args: readonly string[]) =>
    runMachine(
      compose(
        compose(openaiResponses.createStreamDecoder(decodeContext()), raiseTools(lowered.table)),
        openaiResponses.createStreamEncoder(replyContext(WIRE)),
      ),
      upstreamEvents(body, args),
    ).join('')

  test('edge 43, 45: the caller gets its own kinds, names and namespaces back', async () => {
    const text = reply(said)
    expect(finalOutput(text)).toMatchObject([
      { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input },
      { type: 'function_call', name: 'read', namespace: 'mcp__files', arguments: '{"path":"x"}' },
      { type: 'function_call', name: 'read', namespace: `mcp__${'x'.repeat(70)}` },
      {
        type: 'local_shell_call',
        action: { type: 'exec', command: ['ls'], working_directory: '/tmp', timeout_ms: 9, env: { A: '1' } },
      },
      {
        type: 'shell_call',
        action: { commands: ['ls', 'pwd'], timeout_ms: null, max_output_length: null },
      },
      { type: 'tool_search_call', execution: 'client', arguments: { query: 'mail' } },
    ])
    expect(
      dataOf(text).filter(event => event['type'] === 'response.custom_tool_call_input.delta'),
    ).not.toEqual([])
    expect((await sdkFinal(text)).output).toHaveLength(6)
  })

  test('in the next turn the model finds its calls in the words in which it made them', () => {
    const next = lowerTools(request({ ...WIRE, input: finalOutput(reply(said)) }), names)
    const { body } = openaiResponses.encodeRequest(next.request, target)
    const calls = asArray(body['input']).map(asObject)
    expect(calls.filter(item => item?.['type'] === 'function_call').map(item => item?.['arguments'])).toEqual(
      said,
    )
  })

  test('edge 44: arguments that are not the wrapper are the input as they are', () => {
    expect(finalOutput(reply(['*** Begin Patch']))[0]).toMatchObject({
      type: 'custom_tool_call',
      input: '*** Begin Patch',
    })
  })
})
