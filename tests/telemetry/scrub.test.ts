import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { least, msOf } from '#tests/support/least.ts'
import { mintKey } from '@/accounts/api-key.ts'
import { redact } from '@/formats/faults/redaction.ts'
import { scrub, scrubName } from '@/telemetry/scrub.ts'

/** A vendor's key and where the secret part of it begins. */
const KEYS: readonly (readonly [string, string, string])[] = [
  ['Tollgate', 'sk-', '0Ab9cD8e7F6a5B4c3D2e1F0a9B8c7D6e5F4a3B2c1D0e9F8a7B6c5D4e3'],
  ['OpenAI', 'sk-', 'proj-aB3_dE-fG9hIjKlMnOpQrStUvWxYz0123456789'],
  ['Anthropic', 'sk-', 'ant-api03-aBcDeFgHiJ_klMnOpQr-StUvWxYz0123456789AA'],
  ['Stripe', 'sk_', 'live_51AbCdEfGhIjKlMnOp'],
  ['xAI', 'xai-', 'AbCdEfGhIjKlMnOpQrStUvWx'],
  ['Groq', 'gsk_', 'AbCdEfGhIjKlMnOpQrStUvWx'],
  ['Perplexity', 'pplx-', '0123456789abcdef0123456789abcdef'],
  ['Fireworks', 'fw-', 'a1b2c3d4e5f6g7h8'],
  ['Nvidia', 'nvapi-', 'AbCd-EfGh_IjKl0123'],
  ['Cerebras', 'csk-', 'abcdef0123456789'],
  ['some vendor', 'key-', 'abcdef0123456789'],
  ['Hugging Face', 'hf_', 'AbCdEfGhIjKlMnOpQrStUvWx'],
  ['Replicate', 'r8_', 'AbCdEfGhIjKlMnOpQrStUvWx'],
  ['GitHub', 'ghp_', 'AbCdEfGhIjKlMnOpQrStUvWx0123456789'],
  ['GitLab', 'glpat-', 'AbCdEfGhIjKlMnOpQrSt'],
  ['Google', 'AIza', 'SyA-1234567890abcdefghijklmnopqrstu'],
  ['Google, for an hour', 'ya29.', 'a0AfB_byC-1234567890'],
  ['AWS', 'AKIA', 'IOSFODNN7EXAMPLE'],
  ['a JSON Web Token', 'eyJ', 'hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9'],
]

/** How a credential gets into a text: as it is, in JSON, in a URL, in JSON in JSON. */
const PLACES: readonly ((secret: string) => string)[] = [
  secret => secret,
  secret => `Incorrect API key provided: ${secret}`,
  secret => `(${secret})`,
  secret => `key=${secret}&x=1`,
  secret => `first_${secret}`,
  secret => JSON.stringify({ message: `line\n${secret}\nline` }),
  secret => JSON.stringify({ message: `tab\t${secret}`, nested: JSON.stringify({ deep: `\r${secret}` }) }),
  secret => JSON.stringify({ message: `\u0001${secret}` }),
  secret => `%20${secret}%20`,
]

describe('a key by its looks', () => {
  test.each(KEYS)('of %s goes, its kind stays, wherever it stands', (_vendor, kind, rest) => {
    for (const place of PLACES) {
      const clean = scrub(place(kind + rest))
      expect(clean).not.toContain(rest)
      expect(clean).toContain(`${kind}[redacted]`)
    }
  })

  test.each(KEYS)('of %s goes from what an upstream says, too', (_vendor, kind, rest) => {
    for (const place of PLACES) {
      const clean = redact(place(kind + rest))
      expect(clean).not.toContain(rest)
      expect(clean).toMatch(/\[(?:key|address)\]/)
    }
  })

  test('of ours never survives, whatever is around it', () => {
    const key = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map(seed => mintKey(bytes => seed.slice(0, bytes)).key)
    const text = fc.string({ unit: 'binary', maxLength: 30 })
    fc.assert(
      fc.property(text, key, text, (before, minted, after) => {
        for (const line of [before + minted + after, JSON.stringify({ x: before + minted + after })]) {
          expect(scrub(line)).not.toContain(minted.slice(3, 40))
        }
      }),
      { numRuns: 500 },
    )
  })

  test('of ours never survives right behind another one', () => {
    const [one, other] = [1, 2].map(seed => mintKey(bytes => new Uint8Array(bytes).fill(seed)).key)
    expect(scrub(`${one}${other} ${other}`)).toBe('sk-[redacted]sk-[redacted] sk-[redacted]')
  })
})

describe('a secret by its name', () => {
  const SECRET = 'c2VjcmV0LXZhbHVl'
  test.each<[string, string]>([
    ['a bearer token', `Authorization: Bearer ${SECRET}`],
    ['a bearer token in JSON', JSON.stringify({ authorization: `Bearer ${SECRET}` })],
    ['a bearer token in a sentence', `sent as bearer ${SECRET}.`],
    ['basic credentials', `authorization: Basic ${SECRET}`],
    ['basic credentials in JSON', JSON.stringify({ headers: { Authorization: `Basic ${SECRET}` } })],
    ['an authorization without a scheme', `authorization=${SECRET}`],
    ['a proxy authorization', `Proxy-Authorization: Basic ${SECRET}`],
    ['x-api-key', `x-api-key: ${SECRET}`],
    ['x-api-key in JSON', JSON.stringify({ 'x-api-key': SECRET })],
    ['x-api-key in JSON in JSON', JSON.stringify({ body: JSON.stringify({ 'x-api-key': SECRET }) })],
    ['x-goog-api-key', `x-goog-api-key=${SECRET}`],
    ['api-key', JSON.stringify({ 'api-key': SECRET })],
    ['a cookie', `cookie: a=b; session=${SECRET}`],
    ['a cookie in JSON', JSON.stringify({ cookie: `a=b; session=${SECRET}` })],
    ['a cookie that is set', `set-cookie: session=${SECRET}; HttpOnly`],
    ['a query key', `GET /v1beta/models?key=${SECRET} HTTP/1.1`],
    ['a later query key', `https://x/y?alt=sse&key=${SECRET}&z=1`],
    ['an access token', `https://x/y?access_token=${SECRET}`],
    ['the password of an address', `postgres://tollgate:${SECRET}@db:5432/tollgate`],
    ['the password of an address without a user', `redis://:${SECRET}@cache:6379`],
  ])('%s goes', (_what, text) => {
    expect(scrub(text)).not.toContain(SECRET)
    expect(scrub(text)).toContain('[redacted]')
  })
})

test.each([
  'a task-management-system-for-everybody, a risk-assessment and a disk-encryption',
  '{"error":{"kind":"key_budget_exhausted","message":"x"},"key":44,"account":12}',
  'at find (/app/src/accounts/key-cache.ts:31:7)',
  '{"model":"vendor/deepseek-r1-distill-qwen-32b","request_id":"01a1fa0b-596b-723f-a306-ec1ac18fcd63"}',
  'https://api.example.com:8443/v1/models?limit=5',
  'tokens: 12, monkey=patch, key: value',
])('what is no credential stays: %s', text => {
  expect(scrub(text)).toBe(text)
})

test('what was JSON stays JSON of the same shape', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('sk-', 'Bearer ', 'authorization: ', 'cookie=', '?key=', '://a:', '@', '\\', '"', '\n'),
    fc.constantFrom(...KEYS.map(([, kind, rest]) => kind + rest)),
  )
  const text = fc.array(piece, { maxLength: 8 }).map(pieces => pieces.join(''))
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), texts => {
      const clean: unknown = JSON.parse(scrub(JSON.stringify({ texts, count: texts.length })))
      expect(clean).toEqual({ texts: texts.map(() => expect.any(String)), count: texts.length })
    }),
    { numRuns: 1000 },
  )
})

test('scrubbing what is clean changes nothing', () => {
  for (const [, kind, rest] of KEYS) {
    const once = scrub(`x ${kind}${rest} y`)
    expect(scrub(once)).toBe(once)
  }
})

test('a name is scrubbed as the line that it stands in, each time', () => {
  const names = ['gpt-5', 'a "quoted" name', 'key-abcdef0123456789']
  const inLines = names.map(name => JSON.parse(scrub(JSON.stringify({ model: name }))).model)
  expect(inLines).toEqual(['gpt-5', 'a "quoted" name', 'key-[redacted]'])
  expect(names.map(scrubName)).toEqual(inLines)
  expect(names.map(scrubName)).toEqual(inLines)
})

test('long lines take time in proportion to their length', async () => {
  for (const unit of [
    'sk-',
    'key-a',
    'Bearer ',
    '://a:',
    'cookie=',
    'eyJ',
    'a',
    '?key=&',
    'authorization ',
  ]) {
    const line = unit.repeat(200_000 / unit.length)
    // Measured on Bun 1.4.5: 63 ms for the false starts of tokens, 15 at most for the others.
    expect(await least(500, () => msOf(() => scrub(line)))).toBeLessThan(500)
  }
})
