import { afterEach, describe, expect, test } from 'bun:test'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { decodeContext, replyContext, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { carriesWrappedSignature, wrapInNameOf } from '@/formats/signatures/signature.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'
import { accumulate } from './anthropic-messages/sdk.ts'
import { CALLERS, UPSTREAMS } from './callers.ts'

/** Answers that think, speak and call twice, with all that their makers want back. */
const ANSWERS: Record<Format, JsonObject> = {
  'openai-chat-completions': {
    id: 'x',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'hello',
          reasoning: 'hm',
          reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'S1', index: 0 }],
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'f', arguments: '{"a":1}' },
              extra_content: { google: { thought_signature: 'S2' } },
            },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  'openai-responses': {
    id: 'r',
    status: 'completed',
    output: [
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: 'S1',
      },
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'hello', annotations: [] }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'S2' },
      { type: 'function_call', call_id: 'call_2', name: 'f', arguments: '{}' },
    ],
  },
  'anthropic-messages': {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'S1' },
      { type: 'redacted_thinking', data: 'S2' },
      { type: 'text', text: 'hello' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
      { type: 'tool_use', id: 'toolu_2', name: 'f', input: {} },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  'gemini-generate-content': {
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            { text: 'hello', thoughtSignature: 'S1==' },
            { inlineData: { mimeType: 'image/png', data: 'UklGRgAA' }, thoughtSignature: 'S3==' },
            { functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, thoughtSignature: 'S2==' },
            { functionCall: { id: 'c2', name: 'f', args: {} } },
          ],
        },
        finishReason: 'STOP',
      },
    ],
  },
}

/** What its maker is given back of the answer, apart from tool results. */
const GIVEN_BACK: Record<Format, (body: JsonObject) => unknown[]> = {
  'openai-chat-completions': ({ messages }) => [asArray(messages)[1] ?? null],
  'openai-responses': ({ input }) =>
    asArray(input)
      .slice(1)
      .filter(item => !String(asObject(item)?.['type']).endsWith('_output')),
  'anthropic-messages': ({ messages }) => asArray(asObject(asArray(messages)[1])?.['content']),
  'gemini-generate-content': ({ contents }) => asArray(asObject(asArray(contents)[1])?.['parts']),
}

/** @param pass what becomes of the caller's second request on its way */
function secondTurn(
  upstream: Format,
  caller: Format,
  body = ANSWERS[upstream],
  pass = (request: JsonObject) => request,
  target = UPSTREAMS[upstream],
): unknown[] {
  const { first, second } = CALLERS[caller]
  const context = { ...decodeContext(upstream), vendor: target.vendor }
  const answer = CODECS[upstream].decodeResponse(body, context)
  const reply = CODECS[caller].encodeResponse(answer, replyContext(caller, first))
  const request = CODECS[caller].decodeRequest(pass(second(reply)), { model: 'm', stream: false })
  const lowered = lowerRequest(request, CODECS[upstream], target, USUAL_HABITS)
  return GIVEN_BACK[upstream](JSON.parse(JSON.stringify(lowered.body)))
}

const others = (format: Format) => FORMATS.filter(other => other !== format)

describe('what its maker wants back of an answer is given back, in its place', () => {
  test.each(others('anthropic-messages'))("Claude's thoughts, through %s", caller => {
    expect(secondTurn('anthropic-messages', caller)).toEqual(
      asArray(ANSWERS['anthropic-messages']['content']),
    )
  })

  const [thought, message, first, later, last] = asArray(ANSWERS['openai-responses']['output'])
  const shape = (items: unknown[]) => items.map(item => expect.objectContaining(asObject(item) ?? {}))
  const withoutIds = (item: unknown) => {
    const { id: _id, ...rest } = asObject(item) ?? {}
    return rest
  }
  const spoken = { type: 'message', content: [{ type: 'output_text', text: 'hello', annotations: [] }] }

  test("OpenAI's thoughts and phase, through Chat, whose thoughts stand first", () => {
    const items = secondTurn('openai-responses', 'openai-chat-completions')
    const phased = { ...spoken, phase: asObject(message)?.['phase'] }
    expect(items).toEqual(shape([thought, later, phased, first, last]))
  })

  test("OpenAI's thoughts and phase, through Gemini", () => {
    const items = secondTurn('openai-responses', 'gemini-generate-content')
    const phased = { ...spoken, phase: asObject(message)?.['phase'] }
    expect(items).toEqual(shape([withoutIds(thought), phased, first, withoutIds(later), last]))
  })

  test("OpenAI's thoughts, through Messages, which has no place for a phase", () => {
    const items = secondTurn('openai-responses', 'anthropic-messages')
    expect(items).toEqual(shape([withoutIds(thought), spoken, first, withoutIds(later), last]))
    expect(JSON.stringify(items)).not.toContain('phase')
  })

  test.each(others('openai-responses'))(
    'thoughts in words, of DeepSeek and of open weights that speak Responses, through %s',
    caller => {
      const words = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] }
      const spoken = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }
      const called = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' }
      const body = { id: 'r', status: 'completed', output: [{ ...words, id: '7' }, spoken, called] }
      const target = { model: 'deepseek-v4-pro', vendor: 'api.deepseek.com', maxOutputTokens: undefined }
      const items = secondTurn('openai-responses', caller, body, request => request, target)
      expect(items).toMatchObject([words, spoken, called])
    },
  )

  const parts = asArray(
    asObject(asObject(asArray(ANSWERS['gemini-generate-content']['candidates'])[0])?.['content'])?.['parts'],
  )

  test.each(['openai-chat-completions', 'openai-responses'] as const)(
    "Gemini's signatures, through %s",
    caller => {
      expect(secondTurn('gemini-generate-content', caller)).toEqual(parts)
    },
  )

  test("Gemini's images and signatures, through Messages, which has no place for a text's", () => {
    const [, ...rest] = parts
    expect(secondTurn('gemini-generate-content', 'anthropic-messages')).toEqual([{ text: 'hello' }, ...rest])
  })

  test.each(others('openai-chat-completions'))(
    "another vendor's entries and signatures, through %s",
    caller => {
      const [choice] = asArray(ANSWERS['openai-chat-completions']['choices'])
      const { reasoning: _read, ...kept } = asObject(asObject(choice)?.['message']) ?? {}
      expect(secondTurn('openai-chat-completions', caller)).toEqual([kept])
    },
  )

  // As LiteLLM hands on Anthropic's thoughts and Gemini's signatures, and Vertex has the latter in this format.
  test.each(others('openai-chat-completions'))(
    "thinking blocks, and signatures in Vertex's and LiteLLM's places, through %s",
    caller => {
      const kept = {
        role: 'assistant',
        content: 'hello',
        thinking_blocks: [
          { type: 'thinking', thinking: 'hm', signature: 'S1' },
          { type: 'thinking', thinking: 'well', signature: 'S2' },
          { type: 'redacted_thinking', data: 'S3' },
        ],
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'f', arguments: '{"a":1}' },
            extra_content: { vertex: { thought_signature: 'S4' } },
          },
          {
            id: 'call_2',
            type: 'function',
            function: { name: 'f', arguments: '{"a":2}' },
            provider_specific_fields: { thought_signature: 'S5' },
          },
        ],
      }
      const message = { ...kept, reasoning_content: 'hmwell' }
      const body = { id: 'x', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }
      expect(secondTurn('openai-chat-completions', caller, body)).toEqual([kept])
    },
  )
})

describe('the signatures of calls that are streamed in turns reach a caller of Messages and come back', () => {
  const chat = 'openai-chat-completions'
  const messages = 'anthropic-messages'
  const signed = (index: number) => ({ extra_content: { google: { thought_signature: `S${index}` } } })
  const opened = (index: number, more: JsonObject) => ({
    index,
    id: `call_${index}`,
    function: { name: 'f', arguments: '' },
    ...more,
  })
  const piece = (text: string) => (index: number) => ({ index, function: { arguments: text } })
  const each = (of: (index: number) => JsonObject) => [0, 1].map(of)
  const pieces = ['{"a":', '1}'].flatMap(text => each(piece(text)))

  test.each<[string, JsonObject[]]>([
    ['before their arguments', [...each(index => opened(index, signed(index))), ...pieces]],
    [
      'behind them',
      [...each(index => opened(index, {})), ...pieces, ...each(index => ({ index, ...signed(index) }))],
    ],
  ])('%s', async (_, entries) => {
    const deltas = [
      ...entries.map(entry => ({ delta: { tool_calls: [entry] } })),
      { finish_reason: 'tool_calls' },
    ]
    const sent = deltas.map(
      delta => `data: {"choices":[{"index":0,${JSON.stringify(delta).slice(1, -1)}}]}\n\n`,
    )
    const read = runMachine(createSseParser(), [Buffer.from(`${sent.join('')}data: [DONE]\n\n`)])
    const { vendor } = UPSTREAMS[chat]
    const events = runMachine(CODECS[chat].createStreamDecoder({ ...decodeContext(chat), vendor }), read)
    const { first, second } = CALLERS[messages]
    const told = runMachine(CODECS[messages].createStreamEncoder(replyContext(messages, first)), events).join(
      '',
    )
    expect(unlawful(messages, told)).toEqual([])
    const reply = JSON.parse(JSON.stringify(await accumulate(told)))
    const request = CODECS[messages].decodeRequest(second(reply), { model: 'm', stream: false })
    const { body } = lowerRequest(request, CODECS[chat], UPSTREAMS[chat], USUAL_HABITS)
    expect(asArray(body['messages'])[1]).toMatchObject({ tool_calls: each(signed) })
  })
})

test("another vendor's sources, shown to a caller of Messages, are not brought to Claude, who holds no key to them", () => {
  const answer = CODECS['gemini-generate-content'].decodeResponse(
    {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'hello' }] },
          finishReason: 'STOP',
          groundingMetadata: {
            groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }],
            groundingSupports: [{ segment: { endIndex: 5 }, groundingChunkIndices: [0] }],
          },
        },
      ],
    },
    decodeContext('gemini-generate-content'),
  )
  const { first, second } = CALLERS['anthropic-messages']
  const messages = CODECS['anthropic-messages']
  const reply = messages.encodeResponse(answer, replyContext('anthropic-messages', first))
  expect(reply['content']).toMatchObject([{ citations: [{ url: 'https://a.example' }] }])
  const body = second(reply)
  expect(carriesWrappedSignature(Buffer.from(JSON.stringify(body)))).toBe(true)
  const request = messages.decodeRequest(body, { model: 'm', stream: false })
  const lowered = lowerRequest(request, messages, UPSTREAMS['anthropic-messages'], USUAL_HABITS)
  expect(asArray(lowered.body['messages'])[1]).toEqual({
    role: 'assistant',
    content: [{ type: 'text', text: 'hello' }],
  })
  expect(lowered.losses).toContainEqual({ field: 'citations', name: undefined })
})

describe('a gateway in front of this one, which speaks the format of its callers with it', () => {
  afterEach(() => wrapInNameOf(undefined))

  const ways = FORMATS.flatMap(upstream => others(upstream).map(caller => ({ upstream, caller })))
  test.each(ways)('hands on what goes back to $upstream through $caller', ({ upstream, caller }) => {
    wrapInNameOf('behind01')
    const back = secondTurn(upstream, caller, ANSWERS[upstream], request => {
      wrapInNameOf('before01')
      expect(carriesWrappedSignature(Buffer.from(JSON.stringify(request)))).toBe(false)
      wrapInNameOf('behind01')
      return request
    })
    expect(JSON.stringify(back)).toContain('"S2')
  })
})
