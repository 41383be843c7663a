import { describe, expect, test } from 'bun:test'
import { ApiFailure, failureOf, messageBeside } from '@/console/web/api/failure.ts'
import { channelTexts, readChannelTexts } from '@/console/web/format/channel-texts.ts'
import { limitsInWords, limitTexts, NO_LIMITS, readLimits } from '@/console/web/format/limit-texts.ts'
import { modelTexts, readModelTexts, routeTexts } from '@/console/web/format/model-texts.ts'
import { priceTexts } from '@/console/web/format/price-texts.ts'
import {
  optionalAmount,
  optionalCount,
  typedAmount,
  typedCount,
  typedInteger,
  typedText,
} from '@/console/web/format/typed.ts'

/** The field that a reading refuses; undefined if it refuses none. */
function refusedBy(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    return error instanceof ApiFailure ? error.field : 'another error'
  }
}

describe('what is typed into a field', () => {
  test.each([
    ['an amount', typedAmount, '$5.00', '5.00'],
    ['no amount', optionalAmount, ' ', undefined],
    ['a count', typedCount, '1,000', 1000],
    ['no count', optionalCount, '', undefined],
    ['a negative number', typedInteger, ' -3 ', -3],
  ] as const)('%s is read', (_, read, text, value) => {
    expect<string | number | undefined>(read(text, 'field')).toBe(value)
  })

  test.each([
    ['an amount of nothing', typedAmount, ''],
    ['an amount in words', optionalAmount, 'five'],
    ['a count of 0', typedCount, '0'],
    ['a count of 0 that may be left out', optionalCount, '0'],
    ['a broken number', typedInteger, '1.5'],
  ] as const)('%s is refused by the name of the field', (_, read, text) => {
    expect(refusedBy(() => read(text, 'field'))).toBe('field')
  })

  test('a text is read without the space around it, and none is refused', () => {
    expect(typedText(' because ', 'reason', 'Say why.')).toBe('because')
    expect(refusedBy(() => typedText(' ', 'reason', 'Say why.'))).toBe('reason')
  })
})

test.each([
  ['weight', 'weight: At least 1', 'At least 1'],
  ['prices', 'prices.tiers[0].input: No price', 'prices.tiers[0].input: No price'],
  ['name', 'name: must be short', 'Must be short'],
  ['reason', 'Say why', 'Say why'],
])('beside the field %s, "%s" does not say the name again', (field, message, shown) => {
  expect(messageBeside(field, new ApiFailure(400, 'invalid_request', message, field))).toBe(shown)
})

describe('limits', () => {
  test('come back as they were shown', () => {
    const limits = { requests_per_minute: 60, tokens_per_minute: null, concurrent_requests: 4 }
    expect(readLimits(limitTexts(limits))).toEqual(limits)
  })

  test('are told in words, the defaults as such', () => {
    const none = { requests_per_minute: null, tokens_per_minute: null, concurrent_requests: null }
    expect(limitsInWords(none)).toBe("the deployment's defaults")
    expect(limitsInWords({ ...none, requests_per_minute: 1000 })).toBe(
      '1,000 requests a minute; else the defaults',
    )
    expect(limitsInWords({ requests_per_minute: 1, tokens_per_minute: 2000, concurrent_requests: 3 })).toBe(
      '1 request a minute, 2,000 tokens a minute, 3 requests at once',
    )
  })

  test('that cannot be read are refused, not taken for the default', () => {
    expect(refusedBy(() => readLimits({ ...NO_LIMITS, tokens_per_minute: 'many' }, 'limits.'))).toBe(
      'limits.tokens_per_minute',
    )
  })
})

describe('a channel', () => {
  const vendor = {
    name: 'openai',
    channel: { name: 'openai', format: 'openai-responses', base_url: 'https://api.openai.com' },
    models: [],
  } as const
  const typed = { ...channelTexts(undefined, { ...vendor, models: [] }), api_keys: 'one\n two ' }

  test('begins as its vendor says and is read with each key', () => {
    expect(readChannelTexts(typed, [], undefined)).toMatchObject({
      format: 'openai-responses',
      base_url: 'https://api.openai.com',
      api_keys: [{ secret: 'one' }, { secret: 'two' }],
      priority: 0,
      weight: 1,
      timeouts: {},
      max_concurrent: null,
    })
  })

  test.each([
    ['headers', { headers: 'no colon' }],
    ['api_keys', { api_keys: '' }],
    ['base_url', { base_url: ' ' }],
    ['weight', { weight: 'heavy' }],
    ['timeouts.idle_ms', { 'timeouts.idle_ms': '0' }],
  ])('is refused by the field that is wrong: %s', (field, texts) => {
    expect(refusedBy(() => readChannelTexts({ ...typed, ...texts }, [], undefined))).toBe(field)
  })
})

describe('a model', () => {
  const routes = [{ channel: 'openai', model: '', priority: '0', weight: '1' }]
  const typed = { ...modelTexts(undefined), id: 'gpt', aliases: 'a, b' }

  test('leaves out what nobody typed', () => {
    expect(readModelTexts(typed, routes, priceTexts(null), undefined)).toEqual({
      aliases: ['a', 'b'],
      display_name: undefined,
      owned_by: undefined,
      channels: [{ channel: 'openai', model: undefined, priority: 0, weight: 1 }],
      surfaces: null,
      enabled_by_default: true,
      context_tokens: null,
      max_output_tokens: null,
      prices: null,
    })
  })

  test('that is new begins with one route', () => {
    expect(routeTexts(undefined, [])).toEqual([{ channel: '', model: '', priority: '0', weight: '1' }])
  })

  test.each([
    ['id', { id: '' }, routes],
    ['context_tokens', { context_tokens: 'all' }, routes],
    ['channels', {}, [{ channel: 'openai', model: '', priority: 'first', weight: '1' }]],
  ])('is refused by the field that is wrong: %s', (field, texts, ways) => {
    const read = () => readModelTexts({ ...typed, ...texts }, ways, priceTexts(null), undefined)
    expect(refusedBy(read)).toBe(field)
  })
})

test('a page of a proxy in the place of an answer is told as what it is', async () => {
  const page = new Response('<html>502 Bad Gateway</html>', {
    status: 502,
    headers: { 'content-type': 'text/html' },
  })
  expect(await failureOf(page)).toMatchObject({
    status: 502,
    message: expect.stringContaining('Status 502 came from a server in front of the console'),
  })
})
