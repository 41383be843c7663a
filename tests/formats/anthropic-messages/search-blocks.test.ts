import { describe, expect, test } from 'bun:test'
import { decode, replyContext, target, written } from '#tests/formats/anthropic-messages/fixtures.ts'
import { accumulate } from '#tests/formats/anthropic-messages/sdk.ts'
import { finish, START, textEvents } from '#tests/formats/events.ts'
import { decodeContext, TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { carriesWrappedSignature } from '@/formats/signatures/signature.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { replay } from '@/generation/replay.ts'
import { asObjects, type JsonObject } from '@/json/json.ts'

const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 8 }
const OFFERED: ReplyContext = { ...replyContext(), wire: { tools: [SEARCH] } }
const PAGES = [
  { url: 'https://a.example', title: 'A' },
  { url: 'https://b.example', title: 'B' },
]

/** Answers of searches that the upstream made, which name their pages twice. */
const ANSWERS = {
  'openai-responses': {
    status: 'completed',
    output: [
      {
        id: 'ws_1',
        type: 'web_search_call',
        status: 'completed',
        action: { type: 'search', queries: ['tolls'] },
      },
      {
        type: 'message',
        content: [{ type: 'output_text', text: 'Tolls rose.', annotations: [0, 1, 0].map(annotation) }],
      },
    ],
  },
  'openai-chat-completions': {
    choices: [
      {
        message: {
          content: 'Tolls rose.',
          annotations: [0, 1, 0].map(page => ({ type: 'url_citation', url_citation: annotation(page) })),
        },
        finish_reason: 'stop',
      },
    ],
  },
  'gemini-generate-content': {
    candidates: [
      {
        content: { parts: [{ text: 'Tolls rose.' }] },
        finishReason: 'STOP',
        groundingMetadata: {
          groundingChunks: PAGES.map(({ url, title }) => ({ web: { uri: url, title } })),
          groundingSupports: [{ segment: { endIndex: 5 }, groundingChunkIndices: [0, 1] }],
        },
      },
    ],
  },
} satisfies Partial<Record<Format, JsonObject>>

function annotation(page: number): JsonObject {
  return { type: 'url_citation', ...PAGES[page], start_index: page, end_index: 5 }
}

const QUERIES = { 'openai-responses': 'tolls', 'openai-chat-completions': '', 'gemini-generate-content': '' }

function answerOf(upstream: keyof typeof ANSWERS) {
  return CODECS[upstream].decodeResponse(ANSWERS[upstream], decodeContext(upstream))
}

const UPSTREAMS = ['openai-responses', 'openai-chat-completions', 'gemini-generate-content'] as const

describe.each(UPSTREAMS)('a search that %s made', upstream => {
  const whole = CODECS['anthropic-messages'].encodeResponse(answerOf(upstream), OFFERED)

  test('is told with its pages to a caller who offered one, whole and streamed', async () => {
    const id = expect.stringMatching(/^srvtoolu_\w+$/)
    const [text, call, result] = asObjects(whole['content'])
    expect(text).toMatchObject({ type: 'text', text: 'Tolls rose.' })
    const input = { query: QUERIES[upstream] }
    expect(call).toEqual({
      type: 'server_tool_use',
      id,
      name: 'web_search',
      input,
      caller: { type: 'direct' },
    })
    expect(result).toMatchObject({ type: 'web_search_tool_result', tool_use_id: call?.['id'] })
    expect(asObjects(result?.['content'])).toEqual(
      PAGES.map(page => ({
        type: 'web_search_result',
        ...page,
        page_age: null,
        encrypted_content: expect.stringMatching(/./),
      })),
    )
    const streamed = await accumulate(written(replay(answerOf(upstream)), OFFERED))
    expect<unknown>(streamed.content.slice(-2)).toEqual([call, result])
  })

  test('is no block for a caller who offered none', () => {
    const { content } = CODECS['anthropic-messages'].encodeResponse(answerOf(upstream), replyContext())
    expect(asObjects(content)).toMatchObject([{ type: 'text' }])
  })

  test.each(FORMATS)('is not told to %s when it comes back, and is no loss', format => {
    const body = {
      tools: [SEARCH],
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: whole['content'] ?? null },
        { role: 'user', content: 'more' },
      ],
    }
    // So that it is never handed on as it is.
    expect(carriesWrappedSignature(Buffer.from(JSON.stringify(body)))).toBe(true)
    const { body: sent, losses } = lowerRequest(decode(body), CODECS[format], TARGETS[format], USUAL_HABITS)
    expect(JSON.stringify(sent)).not.toMatch(/server_tool_use|tool_result|srvtoolu/)
    expect(losses.filter(({ field }) => field === 'extension')).toEqual([])
  })
})

test('a search of which no page is named is not told', () => {
  expect(written([START, ...textEvents(0, 'Nothing.'), finish()], OFFERED)).not.toContain('srvtoolu_')
})

describe("Anthropic's own search", () => {
  const OWN = [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tolls' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [
        { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'key' },
      ],
    },
  ]

  test('keeps its blocks, and gets none beside them', async () => {
    const body = { content: [...OWN, { type: 'text', text: 'x', citations: [] }], stop_reason: 'end_turn' }
    const answer = CODECS['anthropic-messages'].decodeResponse(body, decodeContext('anthropic-messages'))
    const streamed = await accumulate(written(replay(answer), OFFERED))
    expect<unknown>(streamed.content.slice(0, -1)).toEqual(OWN)
  })

  test('streams the input of its call in a delta, as clients read it', () => {
    const part = { type: 'opaque', format: 'anthropic-messages', name: 'server_tool_use' } as const
    const stream = written([
      START,
      { type: 'opaque', block: 0, candidate: 0, part: { ...part, value: OWN[0] ?? null } },
      finish(),
    ])
    expect(stream).toContain('"name":"web_search","input":{}}')
    expect(stream).toContain('{"type":"input_json_delta","partial_json":"{\\"query\\":\\"tolls\\"}"}')
  })

  test('goes back to it as it was', () => {
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [...OWN, { type: 'text', text: 'x' }] },
      { role: 'user', content: 'more' },
    ]
    const { body } = CODECS['anthropic-messages'].encodeRequest(decode({ messages }), target())
    expect(asObjects(body['messages'])[1]?.['content']).toMatchObject([...OWN, { type: 'text' }])
  })
})
