import { afterAll, describe, expect, test } from 'bun:test'
import { runMachine } from '@/generation/machine.ts'
import { asObject, type JsonObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import { CLOCK, WEATHER } from './cell.ts'
import { PAIRS } from './cells.ts'
import { checkResponseObject, GRAMMARS } from './grammar.ts'
import { PLAIN } from './loss-fields.ts'
import { startRig } from './rig.ts'
import { SIDES, type Side } from './talk.ts'

const rig = await startRig()
afterAll(() => rig.close())

const MODELS = [
  ...['echo', 'reason', 'tool', 'parallel', 'reason+tool', 'reason+parallel', 'image', 'refuse', 'filter'],
  ...['long-200', 'split-7', 'json'],
]

/** What each surface adds to ask for thoughts and for the usage of a stream, and a second tool. */
const ASKING: Record<Side, JsonObject> = {
  chat: {
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: 'low',
    tools: [WEATHER, CLOCK].map(tool => ({ type: 'function', function: { ...tool } })),
  },
  responses: {
    stream: true,
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    tools: [WEATHER, CLOCK].map(tool => ({ type: 'function', strict: false, ...tool })),
  },
  messages: {
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 2048 },
    tools: [WEATHER, CLOCK].map(({ name, parameters }) => ({ name, input_schema: parameters })),
  },
  gemini: {
    generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } },
    tools: [
      {
        functionDeclarations: [WEATHER, CLOCK].map(({ name, parameters }) => ({
          name,
          parametersJsonSchema: parameters,
        })),
      },
    ],
  },
}

for (const { caller, upstream } of PAIRS) {
  describe(`called as ${caller}, served by ${upstream}`, () => {
    test.each(MODELS)('a stream of %s keeps to the grammar', async model => {
      GRAMMARS[caller](await streamOf(caller, `${upstream}/${model}`))
    })
  })
}

test.each(SIDES)('the JSON array that Gemini streams without alt=sse: served by %s', async upstream => {
  const path = `/v1beta/models/${upstream}/reason+parallel:streamGenerateContent`
  const response = await post(path, { ...PLAIN.gemini, ...ASKING.gemini })
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const chunks: unknown = JSON.parse(await response.text())
  if (!Array.isArray(chunks)) throw new Error('not an array')
  GRAMMARS.gemini(chunks.map(chunk => ({ event: undefined, data: JSON.stringify(chunk) })))
})

test.each(['chat', 'messages', 'gemini'])('a whole response has every key: served by %s', async upstream => {
  const body = { model: `${upstream}/reason+tool`, ...PLAIN.responses, ...ASKING.responses, stream: false }
  const response = await post('/v1/responses', body)
  checkResponseObject(asObject(JSON.parse(await response.text())))
})

async function streamOf(caller: Side, model: string): Promise<SseEvent[]> {
  const asked = { ...PLAIN[caller], ...ASKING[caller] }
  const path = {
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    messages: '/v1/messages',
    gemini: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
  }
  const response = await post(path[caller], caller === 'gemini' ? asked : { model, ...asked })
  const bytes = await response.bytes()
  expect(response.status, new TextDecoder().decode(bytes)).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  return runMachine(createSseParser(), [bytes])
}

function post(path: string, body: JsonObject): Promise<Response> {
  return fetch(new URL(path, rig.gateway.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.gateway.key}`, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  })
}
