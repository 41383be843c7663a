import { beforeEach, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'
import {
  askingFor,
  type ClientCase,
  eventsOf,
  functionNames,
  privateIds,
  readCase,
  withFirstTool,
} from './case.ts'

/** `functions` is a Responses channel that takes nothing but function tools, `gemini3` a model that wants signatures. */
const UPSTREAMS = ['chat', 'responses', 'functions', 'messages', 'gemini', 'gemini3'] as const
type Upstream = (typeof UPSTREAMS)[number]

const gateway = await fileGateway({
  models: ['echo', 'tool', 'reason+tool']
    .map(
      name =>
        `  - { id: "gemini3/${name}", channels: [{ channel: gemini, model: "gemini-3-pro/${name}" }], prices: { input: 1, output: 2 } }`,
    )
    .join('\n'),
})
await gateway.apply(`
channels:
  - { name: functions, format: openai-responses, base_url: "${gateway.simulator.url}", api_keys: ["k"], function_tools_only: true, allow_private: true }
models:
  - { id: "functions/tool", channels: [{ channel: functions, model: "tool" }], prices: { input: 1, output: 2 } }
  - { id: "functions/reason+tool", channels: [{ channel: functions, model: "reason+tool" }], prices: { input: 1, output: 2 } }
`)
beforeEach(() => gateway.simulator.simulator.recordings.clear())

interface Exchange {
  response: Response
  text: string
  /** What the upstream got. */
  upstream: { headers: Record<string, string>; body: JsonObject; text: string }
}

async function send(given: ClientCase): Promise<Exchange> {
  const response = await gateway.post(given.path, given.body, given)
  const text = await response.text()
  const recording = gateway.simulator.simulator.recordings.all().at(-1)
  const sent = recording === undefined ? '{}' : Buffer.from(recording.bodyBase64, 'base64').toString()
  const body = parseObject(sent) ?? {}
  return { response, text, upstream: { headers: recording?.headers ?? {}, body, text: sent } }
}

/** Every case over every upstream. */
function everywhere<const T extends readonly unknown[]>(rows: readonly T[]): (readonly [Upstream, ...T])[] {
  return UPSTREAMS.flatMap(upstream => rows.map(row => [upstream, ...row] as const))
}

const CASES = [
  ['codex-unknown-model-first'],
  ['codex-unknown-model-parallel-results'],
  ['codex-gpt-5.5-first'],
  ['codex-gpt-5.5-patch-result'],
  ['codex-gpt-5.5-tool-search-result'],
  ['codex-gpt-6.1-sol-first'],
  ['codex-gpt-6.1-sol-exec-result'],
  ['claude-code-first'],
  ['claude-code-parallel-results'],
  ['claude-code-unknown-model-results'],
  ['claude-code-tool-search-result'],
  ['gemini-cli-first'],
  ['gemini-cli-parallel-results'],
] as const

describe('what a client sends', () => {
  test.each(everywhere(CASES))('%s accepts %s, with all of its tools', async (upstream, name) => {
    const given = readCase(name)
    const { response, text, upstream: got } = await send(askingFor(given, `${upstream}/reason+tool`))
    expect([response.status, text.includes('"error":{')]).toEqual([200, false])
    expect(text).not.toContain('response.failed')
    expect(new Set(functionNames(got.body))).toEqual(new Set(functionNames(given.body)))
    expect(endsWell(given, text)).toBe(true)
  })

  test.each(everywhere(CASES))('%s learns nothing private from %s', async (upstream, name) => {
    const given = readCase(name)
    const { upstream: got } = await send(askingFor(given, `${upstream}/reason+tool`))
    // Said to the vendor on purpose: the key of its prompt cache, and the user of a Messages request.
    const { prompt_cache_key: _key, metadata: _user, ...body } = got.body
    const seen = JSON.stringify([got.headers, body])
    expect(privateIds(given).filter(id => seen.includes(id))).toEqual([])
    expect(seen).not.toMatch(/x-codex|claude-code-session|session-id|turn_metadata/i)
  })

  test.each(everywhere(CASES))('is written for %s the same way each time: %s', async (upstream, name) => {
    const given = askingFor(readCase(name), `${upstream}/reason+tool`)
    expect((await send(given)).upstream.text).toBe((await send(given)).upstream.text)
  })
})

/** Whether a stream has the end without which its client asks again or fails. */
function endsWell(given: ClientCase, text: string): boolean {
  const last = eventsOf(text).at(-1) ?? {}
  if (given.path.startsWith('/v1/responses')) {
    const usage = asObject(asObject(last['response'])?.['usage'])
    return last['type'] === 'response.completed' && typeof usage?.['total_tokens'] === 'number'
  }
  if (given.path.startsWith('/v1/messages')) return last['type'] === 'message_stop'
  return asObject(asArray(last['candidates'])[0])?.['finishReason'] === 'STOP'
}

describe('what Codex gets back', () => {
  const EXPECTED = [
    ['codex-unknown-model-first', 'exec_command', { type: 'function_call', name: 'exec_command' }],
    [
      'codex-unknown-model-first',
      'multi_agent_v1',
      { type: 'function_call', name: 'close_agent', namespace: 'multi_agent_v1' },
    ],
    [
      'codex-gpt-5.5-first',
      'apply_patch',
      { type: 'custom_tool_call', name: 'apply_patch', input: expect.any(String) },
    ],
    [
      'codex-gpt-6.1-sol-first',
      'exec',
      {
        type: 'custom_tool_call',
        name: 'exec',
        namespace: 'functions',
        input: expect.any(String),
      },
    ],
  ] as const

  test.each(everywhere(EXPECTED))(
    'over %s, %s: a call of %s as its own item',
    async (upstream, name, tool, item) => {
      const given = withFirstTool(askingFor(readCase(name), `${upstream}/reason+tool`), tool)
      const events = eventsOf((await send(given)).text)
      // Codex acts on these alone.
      const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
      const call = asObject(done.find(each => asObject(each)?.['type'] === item.type))
      expect(call).toMatchObject({ ...item, call_id: expect.stringMatching(/./) })
      if (!('namespace' in item)) expect(call).not.toHaveProperty('namespace')
      // With the thoughts or, from a Gemini that was not asked for them, with their signature alone.
      expect(done.map(each => asObject(each)?.['type'])).toContain('reasoning')
      const response = asObject(events.at(-1)?.['response'])
      expect(asArray(response?.['output'])).toEqual(done.map(each => each ?? null))
    },
  )

  const SEARCHED = UPSTREAMS.filter(upstream => upstream !== 'responses')
  test.each(SEARCHED)('over %s: a search for tools is the client its own', async upstream => {
    const given = withTypeFirst(askingFor(readCase('codex-gpt-5.5-first'), `${upstream}/tool`), 'tool_search')
    const events = eventsOf((await send(given)).text)
    const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
    expect(done).toContainEqual(
      expect.objectContaining({ type: 'tool_search_call', execution: 'client', call_id: expect.any(String) }),
    )
  })

  test.each(SEARCHED)(
    'over %s: tools that were found are announced by the names they have there',
    async upstream => {
      const { upstream: got } = await send(
        askingFor(readCase('codex-gpt-5.5-tool-search-result'), `${upstream}/tool`),
      )
      expect(functionNames(got.body)).toContain('multi_agent_v1__close_agent')
      expect(got.text).toContain('Tools now available: multi_agent_v1__close_agent')
    },
  )
})

/** A client tool of a type of its own has no name to find it by. */
function withTypeFirst(given: ClientCase, type: string): ClientCase {
  const tools = asArray(given.body['tools'])
  const first = tools.filter(tool => asObject(tool)?.['type'] === type)
  return { ...given, body: { ...given.body, tools: [...first, ...tools.filter(t => !first.includes(t))] } }
}

describe('what Claude Code gets back', () => {
  test.each(UPSTREAMS)(
    'over %s: thinking, then a call in a block that is started and stopped',
    async upstream => {
      const given = withFirstTool(askingFor(readCase('claude-code-first'), `${upstream}/reason+tool`), 'Bash')
      const { text } = await send(given)
      const events = eventsOf(text)
      const call = events.find(event => asObject(event['content_block'])?.['type'] === 'tool_use')
      expect(call?.['content_block']).toMatchObject({ name: 'Bash', id: expect.stringMatching(/^[\w-]+$/) })
      const types = events.filter(event => event['index'] === call?.['index']).map(event => event['type'])
      expect([types[0], types.at(-1)]).toEqual(['content_block_start', 'content_block_stop'])
      expect(events.find(event => event['type'] === 'message_delta')).toMatchObject({
        delta: { stop_reason: 'tool_use' },
        usage: { output_tokens: expect.any(Number) },
      })
      // The client fails without either.
      expect([...(text.match(/^event: \S+$/gm) ?? [])]).toEqual(
        events.map(({ type }) => `event: ${String(type)}`),
      )
    },
  )

  test.each(UPSTREAMS)('over %s: its words in mid-conversation arrive', async upstream => {
    const { upstream: got } = await send(
      askingFor(readCase('claude-code-unknown-model-results'), `${upstream}/tool`),
    )
    expect(got.text).toContain('You have been invoked in the following environment')
  })

  test.each(UPSTREAMS.filter(upstream => upstream !== 'messages'))(
    'over %s: its billing header does not reach another vendor',
    async upstream => {
      const { upstream: got } = await send(askingFor(readCase('claude-code-first'), `${upstream}/tool`))
      expect(got.text).not.toContain('x-anthropic-billing-header')
    },
  )
})

describe('what Gemini CLI gets back', () => {
  test.each(UPSTREAMS)(
    'over %s: a whole call in a stream without comments, names or [DONE]',
    async upstream => {
      const { text } = await send(askingFor(readCase('gemini-cli-first'), `${upstream}/reason+tool`))
      const parts = eventsOf(text).flatMap(event =>
        asArray(event['candidates']).flatMap(each =>
          asArray(asObject(asObject(each)?.['content'])?.['parts']),
        ),
      )
      expect(parts.map(part => asObject(part)?.['functionCall']).filter(Boolean)).toMatchObject([
        { name: 'update_topic', args: {} },
      ])
      const lines = text.split(/\r?\n/).filter(line => line !== '')
      expect(lines.filter(line => !line.startsWith('data: {'))).toEqual([])
    },
  )

  test.each(UPSTREAMS)('over %s: its stand-in for a signature is no loss', async upstream => {
    const { response } = await send(askingFor(readCase('gemini-cli-parallel-results'), `${upstream}/tool`))
    expect(response.headers.get('x-tollgate-losses') ?? '').not.toContain('thoughtSignature')
  })
})
