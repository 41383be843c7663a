import { describe, expect, test } from 'bun:test'
import { bodyTerms } from '#tests/support/body-terms.ts'
import {
  editBody,
  freeBytes,
  outlineOf,
  type RequestBody,
  readBody,
  readGoogleBody,
  textsOf,
} from '@/exchange/admission/body.ts'
import { estimateTokens } from '@/exchange/billing/token-estimate.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { conversationName } from '@/routing/affinity.ts'

/** 40 kB of what a model is told, with what JSON escapes and what takes several bytes. */
const LONG = 'const a = "ä漢😀\\u0041"\n\t'.repeat(2000)

function read(body: string | Uint8Array, reader = readBody): Promise<RequestBody> {
  const length = String(Buffer.byteLength(body))
  return reader(
    new Request('http://gateway/', {
      method: 'POST',
      body,
      headers: { 'content-length': length },
    }),
    bodyTerms(1e9),
  )
}

const BODIES: [string, Format, JsonObject][] = [
  [
    'turns and tools',
    'openai-chat-completions',
    {
      messages: [
        { role: 'system', content: LONG },
        { role: 'user', content: [{ type: 'text', text: LONG.slice(7) }] },
        { role: 'assistant', content: 'x'.repeat(300), tool_calls: [{ function: { arguments: LONG } }] },
      ],
      tools: [
        { type: 'function', function: { name: 'f', description: LONG, parameters: { enum: [LONG, 1] } } },
      ],
    },
  ],
  [
    'an image, a file and a hidden thought',
    'anthropic-messages',
    {
      system: LONG,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(50_000) } },
            { type: 'document', source: { type: 'text', data: LONG } },
            { type: 'thinking', thinking: LONG, signature: 'S'.repeat(5000) },
          ],
        },
      ],
    },
  ],
  [
    'media with a very long type',
    'gemini-generate-content',
    {
      contents: [
        {
          role: 'user',
          parts: [{ inlineData: { mimeType: `${'x'.repeat(300)}image`, data: LONG } }, { text: LONG }],
        },
      ],
    },
  ],
  ['one text', 'openai-responses', { instructions: LONG, input: `${LONG}!` }],
  [
    'items',
    'openai-responses',
    {
      input: [
        { role: 'user', content: 'y'.repeat(4096) },
        { role: 'user', content: LONG },
      ],
    },
  ],
]

describe('a large body', () => {
  test.each(BODIES)('of %s is reckoned like its parsed self', async (_, format, json) => {
    const text = JSON.stringify({ model: 'm', ...json })
    const body = await read(text)
    expect(body.outline).toBeDefined()
    const length = Buffer.byteLength(text)
    const ofOutline = estimateTokens(outlineOf(body), length, textsOf(body))
    expect(ofOutline).toBe(estimateTokens(JSON.parse(text), length))
    const traits = { accountId: 1, model: 'm', format, headers: new Headers() }
    const name = conversationName({ ...traits, body: outlineOf(body), texts: textsOf(body) })
    expect(name).toBe(conversationName({ ...traits, body: JSON.parse(text) }))
    expect(body.json).toEqual(JSON.parse(text))
  })

  test('with a byte order mark is read without it', async () => {
    const body = await read(`\ufeff${JSON.stringify({ input: LONG })}`)
    expect(textsOf(body).whole(String(outlineOf(body)['input']))).toBe(LONG)
    expect(body.json).toEqual({ input: LONG })
  })

  test.each([
    ['cut short', JSON.stringify({ messages: [LONG] }).slice(0, -3)],
    ['cut short in a string', JSON.stringify({ messages: [LONG] }).slice(0, -9)],
    ['with a line break in a string', `{"messages":["${'x'.repeat(40_000)}\n"]}`],
    ['with an unknown escape', `{"messages":["${'x'.repeat(40_000)}\\x"]}`],
    ['with a comma too many', `{"messages":["${'x'.repeat(40_000)}",]}`],
    ['with more behind it', `{"messages":["${'x'.repeat(40_000)}"]} 1`],
    [
      'that is no UTF-8',
      Buffer.concat([
        Buffer.from(`{"messages":["${'x'.repeat(40_000)}`),
        Buffer.from([0xc3, 0x22, 0x5d, 0x7d]),
      ]),
    ],
  ])('%s is refused', async (_, body) => {
    await expect(read(body)).rejects.toMatchObject({ kind: 'invalid_json' })
  })

  test.each([[[LONG]], [LONG]])('that is JSON and no object is refused', async value => {
    await expect(read(JSON.stringify(value))).rejects.toMatchObject({ kind: 'invalid_request' })
  })
})

describe('a large body that is edited', () => {
  const shorter = [{ path: ['model'], value: 'm' }]

  test('is lent, and is as it came for whoever asks for it then', async () => {
    const text = JSON.stringify({ model: 'model', input: LONG })
    const body = await read(text)
    expect(String(Buffer.from(editBody(body, shorter)))).toBe(text.replace('"model":"model"', '"model":"m"'))
    expect(String(Buffer.from(body.bytes))).toBe(text)
    editBody(body, shorter)
    expect(body.json).toEqual({ model: 'model', input: LONG })
    editBody(body, shorter)
    expect(textsOf(body).whole(String(outlineOf(body)['input']))).toBe(LONG)
  })

  test('is edited as it came, also where an edit of it is lent', async () => {
    const text = JSON.stringify({ input: LONG, model: 'model' })
    const body = await read(text)
    editBody(body, [{ path: ['model'], remove: true }])
    expect(String(Buffer.from(editBody(body, shorter)))).toBe(text.replace('"model":"model"', '"model":"m"'))
    const longer = [{ path: ['model'], value: 'a longer name' }]
    expect(String(Buffer.from(editBody(body, longer)))).toBe(
      text.replace('"model":"model"', '"model":"a longer name"'),
    )
    expect(String(Buffer.from(body.bytes))).toBe(text)
    expect(editBody(body, [])).toBe(body.bytes)
  })
})

test('a small body is parsed', async () => {
  const body = await read('{"model":"m"}')
  expect(body.outline).toBeUndefined()
  expect(outlineOf(body)).toBe(body.json)
})

describe('memory is given back', () => {
  test('of large bytes that are a buffer of their own', () => {
    const bytes = new Uint8Array(100_000)
    freeBytes(bytes)
    expect(bytes.buffer.byteLength).toBe(0)
  })

  test.each([
    ['the first part of a buffer', new Uint8Array(new ArrayBuffer(200_000), 0, 100_000)],
    ['the last part of a buffer', new Uint8Array(new ArrayBuffer(200_000), 100_000)],
    ['small bytes', new Uint8Array(1000)],
    ['bytes of the pool', Buffer.from('x'.repeat(1000))],
  ])('and not of %s', (_, bytes) => {
    const { length } = bytes
    freeBytes(bytes)
    expect(bytes.length).toBe(length)
  })
})

describe('a body of so many parts that reading it would hold up everybody else', () => {
  const many = 1_000_001

  test.each<[string, string]>([
    ['arrays that nobody closes', `{"a":${'['.repeat(many)}`],
    ['objects', `{"a":[${'{},'.repeat(many)}{}]}`],
    ['members', `{${'"a":1,'.repeat(many)}"a":1}`],
    ['arrays behind a long text', `{"messages":[{"content":"${'x'.repeat(300)}"}],"a":${'['.repeat(many)}`],
  ])('is refused before it is parsed: %s', async (_, body) => {
    await expect(read(body)).rejects.toMatchObject({ kind: 'invalid_request' })
  })

  test('is not one of many numbers and texts', async () => {
    const { json } = await read(`{"a":[${'1,'.repeat(many)}${'"[{:",'.repeat(many)}1]}`)
    expect((json['a'] as unknown[]).length).toBe(2 * many + 1)
  })
})

describe('a body with a comma behind its last member, where Google’s parser would read it', () => {
  const byHand = (length: number) => `{"text":"${'x'.repeat(length)}",}`

  test('is JSON from then on', async () => {
    for (const length of [1, 100_000]) {
      const body = await read(byHand(length), readGoogleBody)
      expect(JSON.parse(Buffer.from(body.bytes).toString())).toEqual({ text: 'x'.repeat(length) })
    }
  })

  test('is refused where it is larger than what anybody writes by hand, or no text', async () => {
    await expect(read(byHand(1024 * 1024), readGoogleBody)).rejects.toMatchObject({ kind: 'invalid_json' })
    const bytes = Buffer.from(byHand(1))
    bytes[9] = 0xff
    await expect(read(bytes, readGoogleBody)).rejects.toMatchObject({ kind: 'invalid_json' })
  })
})
