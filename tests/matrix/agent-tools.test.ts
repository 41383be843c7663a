import { afterAll, describe, expect, test } from 'bun:test'
import { runMachine } from '@/generation/machine.ts'
import { asArray, asObject, isJsonObject, type JsonObject, parseObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'
import { CLOCK } from './cell.ts'
import { GRAMMARS } from './grammar.ts'
import { startRig } from './rig.ts'
import { SIDES } from './talk.ts'

const rig = await startRig()
afterAll(() => rig.close())

/** A tool kind that only Responses has: its definition, its call, and how a client answers that call. */
interface AgentTool {
  tool: JsonObject
  call: JsonObject
  output: (call: JsonObject) => JsonObject
}

const GROUP = {
  type: 'namespace',
  name: 'clock',
  description: 'Time.',
  tools: [{ type: 'function', strict: false, ...CLOCK }],
}

const AGENT_TOOLS: Record<string, AgentTool> = {
  custom: {
    tool: {
      type: 'custom',
      name: 'apply_patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    call: { type: 'custom_tool_call', name: 'apply_patch', input: expect.any(String) },
    output: call => ({ type: 'custom_tool_call_output', call_id: call['call_id'] ?? null, output: 'done' }),
  },
  'in a group': {
    tool: GROUP,
    call: { type: 'function_call', name: CLOCK.name, namespace: 'clock', arguments: expect.any(String) },
    output: call => ({ type: 'function_call_output', call_id: call['call_id'] ?? null, output: 'done' }),
  },
  'local shell': {
    tool: { type: 'local_shell' },
    call: { type: 'local_shell_call', action: expect.objectContaining({ type: 'exec' }) },
    output: call => ({
      type: 'local_shell_call_output',
      id: call['call_id'] ?? null,
      call_id: call['call_id'] ?? null,
      output: 'done',
    }),
  },
  shell: {
    tool: { type: 'shell', environment: { type: 'local' } },
    call: { type: 'shell_call', action: expect.objectContaining({ commands: expect.any(Array) }) },
    output: call => ({
      type: 'shell_call_output',
      call_id: call['call_id'] ?? null,
      output: [{ stdout: 'done', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
  },
  'apply patch': {
    tool: { type: 'apply_patch' },
    call: { type: 'apply_patch_call', operation: expect.any(Object) },
    output: call => ({
      type: 'apply_patch_call_output',
      call_id: call['call_id'] ?? null,
      status: 'completed',
      output: 'done',
    }),
  },
  'tool search': {
    tool: {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds tools.',
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
    call: { type: 'tool_search_call', execution: 'client', arguments: { query: 'text' } },
    output: call => ({
      type: 'tool_search_output',
      call_id: call['call_id'] ?? null,
      execution: 'client',
      status: 'completed',
      tools: [{ type: 'function', strict: false, ...CLOCK }],
    }),
  },
}

/** The tools of an agent survive every upstream: lowered to functions, raised in the answer, lowered again in history. */
for (const upstream of SIDES.filter(side => side !== 'responses')) {
  describe(`called as responses, served by ${upstream}`, () => {
    test.each(Object.entries(AGENT_TOOLS))('a tool of the kind %s goes there and back', async (_, kind) => {
      const model = `${upstream}/tool`
      const input: JsonObject[] = [{ type: 'message', role: 'user', content: 'Go' }]
      const request = { model, input, tools: [kind.tool], store: false }
      const whole = asArray((await ask(request))['output']).map(asObject)
      expect(whole).toMatchObject([kind.call])
      const streamed = await stream(request)
      expect(streamed).toMatchObject([kind.call])
      const call = streamed[0] ?? {}
      const answer = await ask({ ...request, input: [...input, call, kind.output(call)] })
      expect(JSON.stringify(answer['output'])).toContain('Result: ')
    })
  })
}

async function post(body: JsonObject): Promise<Response> {
  const response = await fetch(new URL('/v1/responses', rig.gateway.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.gateway.key}` },
    body: JSON.stringify(body),
  })
  if (response.status !== 200) throw new Error(await response.text())
  return response
}

async function ask(body: JsonObject): Promise<JsonObject> {
  return parseObject(await (await post(body)).text()) ?? {}
}

async function stream(body: JsonObject): Promise<JsonObject[]> {
  const bytes = await (await post({ ...body, stream: true })).bytes()
  const events = runMachine(createSseParser(), [bytes])
  GRAMMARS.responses(events)
  const last = parseObject(events.at(-1)?.data ?? '')
  return asArray(asObject(last?.['response'])?.['output']).filter(isJsonObject)
}
