import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { least, msOf } from '#tests/support/least.ts'
import { estimateTokens, weighPrompt } from '@/exchange/billing/token-estimate.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'

function estimate(body: JsonObject): number {
  return estimateTokens(body, Buffer.byteLength(JSON.stringify(body)))
}

const ENGLISH = 'The quick brown fox jumps over the lazy dog. '.repeat(100)
const CJK = '天地玄黄宇宙洪荒'.repeat(100)
const IMAGE = 'A'.repeat(400_000)

const BODIES = {
  chat: (text: string) => ({ model: 'm', messages: [{ role: 'user', content: text }] }),
  'chat in parts': (text: string) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] }),
  responses: (text: string) => ({ model: 'm', input: text }),
  'responses in items': (text: string) => ({
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  }),
  messages: (text: string) => ({ max_tokens: 5, messages: [{ role: 'user', content: text }] }),
  'messages with a system prompt': (text: string) => ({
    system: [{ type: 'text', text, cache_control: { type: 'ephemeral' } }],
    messages: [{ role: 'user', content: '' }],
  }),
  'a text document': (text: string) => ({
    messages: [
      {
        role: 'user',
        content: [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }],
      },
    ],
  }),
  gemini: (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
} satisfies Record<string, (text: string) => JsonObject>

describe.each(Object.entries(BODIES))('an estimate of %s', (_name, body) => {
  test('takes Latin text for 4 characters a token', () => {
    expect(Math.abs(estimate(body(ENGLISH)) - ENGLISH.length / 4)).toBeLessThan(10)
  })

  test('takes CJK text for 1 to 1.5 characters a token', () => {
    const tokens = estimate(body(CJK))
    expect(tokens).toBeGreaterThan(CJK.length / 1.5)
    expect(tokens).toBeLessThan(CJK.length + 10)
  })
})

test.each<[string, JsonObject]>([
  [
    'chat',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } }],
        },
      ],
    },
  ],
  ['responses', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] }] }],
  [
    'messages',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: IMAGE } }],
        },
      ],
    },
  ],
  [
    'messages, in a tool result',
    {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't',
              content: [{ type: 'image', source: { type: 'url', url: IMAGE } }],
            },
          ],
        },
      ],
    },
  ],
  [
    'gemini',
    { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: IMAGE } }] }] },
  ],
])('an image in %s costs the same whatever its bytes', (_name, body) => {
  expect(estimate(body)).toBeGreaterThan(900)
  expect(estimate(body)).toBeLessThan(1100)
})

test('files cost the same whatever their bytes', () => {
  expect(estimate({ input: [{ role: 'user', content: [{ type: 'input_file', file_data: IMAGE }] }] })).toBe(
    2004,
  )
})

describe('what is set aside for a file', () => {
  const MEGABYTE = 'A'.repeat(2 ** 20)
  const most = (part: JsonObject, texts = 1) =>
    weighPrompt({ messages: [{ role: 'user', content: Array(texts).fill(part) }] }, 1).most

  test.each<[string, JsonObject]>([
    [
      'chat',
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${MEGABYTE}` } },
    ],
    ['chat at Mistral', { type: 'document_url', document_url: `data:application/pdf;base64,${MEGABYTE}` }],
    ['responses', { type: 'input_file', file_data: MEGABYTE }],
    [
      'messages',
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: MEGABYTE } },
    ],
    ['gemini', { inlineData: { mimeType: 'application/pdf', data: MEGABYTE } }],
  ])('grows with its length in %s, and with their number', (_format, part) => {
    expect(most(part)).toBeGreaterThan(45_000)
    expect(most(part)).toBeLessThan(55_000)
    expect(most(part, 10)).toBeGreaterThan(450_000)
  })

  test('is less for sound, and that of a whole one where its length is not known', () => {
    const sound = most({ type: 'input_audio', input_audio: { data: MEGABYTE, format: 'mp3' } })
    expect(sound).toBeGreaterThan(3_000)
    expect(sound).toBeLessThan(5_000)
    for (const part of [
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      { type: 'document_url', document_url: 'https://example.com/a.pdf' },
    ]) {
      expect(most(part)).toBeGreaterThan(50_000)
    }
    expect(most({ fileData: { mimeType: 'video/mp4', fileUri: 'https://youtu.be/1' } })).toBeGreaterThan(
      300_000,
    )
  })

  test('is never less than what is likely, with its margin', () => {
    const small = { type: 'input_file', file_data: 'AAAA' }
    const { likely } = weighPrompt({ input: [{ role: 'user', content: [small] }] }, 1)
    expect(most(small)).toBeGreaterThan(likely * 1.35)
  })
})

test('ciphers, ids and parameters of the answer cost nothing', () => {
  const body = {
    model: ENGLISH,
    metadata: { user_id: ENGLISH },
    stop_sequences: [ENGLISH],
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '', signature: ENGLISH },
          { type: 'redacted_thinking', data: ENGLISH },
        ],
      },
    ],
  }
  expect(estimate(body)).toBe(4)
})

test('tools cost what their schemas say, names included', () => {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`field_${i}`, { type: 'string' }])),
  }
  const size = JSON.stringify(schema).length / 4
  for (const tool of [
    { name: 'f', input_schema: schema },
    { type: 'function', function: { name: 'f', parameters: schema } },
    { functionDeclarations: [{ name: 'f', parametersJsonSchema: schema }] },
  ]) {
    const tokens = estimate({ tools: [tool] })
    expect(tokens).toBeGreaterThan(size * 0.7)
    expect(tokens).toBeLessThan(size * 1.3)
  }
})

test('any JSON gives a whole number that grows with what is appended', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (value, text) => {
      const parts = parseObject(JSON.stringify({ input: [value] }))?.['input'] ?? null
      const tokens = estimate({ input: [parts] })
      expect(Number.isInteger(tokens)).toBe(true)
      expect(tokens).toBeGreaterThanOrEqual(0)
      expect(estimate({ input: [parts, text] })).toBeGreaterThanOrEqual(tokens)
    }),
  )
})

describe('hostile input', () => {
  const MB = 1024 * 1024
  const nested = (depth: number) =>
    JSON.parse(`{"input":${'['.repeat(depth)}"x"${']'.repeat(depth)}}`) as JsonObject
  const cases: Record<string, () => JsonObject> = {
    '10 MB of one letter': () => ({ input: 'a'.repeat(10 * MB) }),
    '10 MB of spaces': () => ({ input: ' '.repeat(10 * MB) }),
    '10 MB of CJK': () => ({ input: '世'.repeat((10 * MB) / 3) }),
    '10 MB of lone surrogates': () => ({ input: '\ud800'.repeat((10 * MB) / 6) }),
    'millions of numbers': () => ({ input: Array.from({ length: 5 * MB }, () => 1) }),
    'a million empty texts': () => ({ input: Array.from({ length: MB }, () => '') }),
    '50,000 levels': () => nested(50_000),
    'many names': () => ({
      tools: [
        {
          parameters: Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [`name${index}`, 1])),
        },
      ],
    }),
  }

  test.each(Object.entries(cases))('%s is estimated in time', async (_name, make) => {
    const body = make()
    expect(Number.isSafeInteger(estimateTokens(body, 10 * MB))).toBe(true)
    // Measured on Bun 1.4.5: 12 ms at most, and 40 for the many names, whose parsing takes 400. A tokenizer: 15 s.
    expect(await least(250, () => msOf(() => estimateTokens(body, 10 * MB)))).toBeLessThan(250)
  })

  test('names that objects have by nature are names like any other', () => {
    const body = JSON.parse('{"__proto__":{"messages":"x"},"messages":[{"__proto__":{"role":"user"}}]}')
    expect(estimateTokens(body, 100)).toBe(4)
  })
})
