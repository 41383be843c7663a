import { describe, expect, test } from 'bun:test'
import type { Prices } from '@/console/api/contract/words.ts'
import { ApiFailure } from '@/console/web/api/failure.ts'
import { bucketName, isPerMillion } from '@/console/web/format/bucket-texts.ts'
import { headerLines, readHeaderLines } from '@/console/web/format/channel-texts.ts'
import { errorReason } from '@/console/web/format/error-texts.ts'
import {
  byteCount,
  COUNT_STEPS,
  compactNumber,
  counted,
  percent,
  readCount,
  readList,
  wholeNumber,
} from '@/console/web/format/number.ts'
import { pastedAddresses, pastedKey, pastedRequestId } from '@/console/web/format/pasted.ts'
import {
  forceInWords,
  typedFutureDay,
  withChange,
  withoutChange,
} from '@/console/web/format/price-changes.ts'
import { priceTexts, readPriceTexts } from '@/console/web/format/price-texts.ts'
import { stacked } from '@/console/web/format/stack.ts'
import {
  duration,
  readDays,
  readLocalTime,
  sinceTime,
  timeTexts,
  typedDay,
  utcTime,
} from '@/console/web/format/time.ts'
import type { Bucket } from '@/pricing/cost.ts'

test('an axis of counts says each of its ticks as it is, and none is a fraction', () => {
  const worth = { '': 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 }
  for (const step of COUNT_STEPS) {
    expect(Number.isInteger(step)).toBe(true)
    for (const tick of Array.from({ length: 11 }, (_, index) => index * step)) {
      const [, digits = '', unit = ''] = /^([\d.]+)([KMBT]?)$/.exec(compactNumber(tick)) ?? []
      expect(Math.round(Number(digits) * worth[unit as keyof typeof worth])).toBe(tick)
    }
  }
})

test('a receipt says what it counts, and by how many of it the price is', () => {
  const rates: Record<Bucket, string> = {
    input: 'Input /M',
    cached_input: 'Input, from cache /M',
    cache_write_5m: 'Cache write, 5 min /M',
    cache_write_1h: 'Cache write, 1 h /M',
    output: 'Output /M',
    reasoning: 'Reasoning /M',
    input_audio: 'Audio in /M',
    output_audio: 'Audio out /M',
    per_request: 'Per request',
    per_image: 'Images',
    per_video_second: 'Video, seconds',
    per_audio_second: 'Sound, seconds',
    per_million_characters: 'Speech, characters /M',
  }
  for (const [bucket, said] of Object.entries(rates)) {
    expect(`${bucketName(bucket)}${isPerMillion(bucket) ? ' /M' : ''}`).toBe(said)
  }
  expect(bucketName('per_image 1024x1024')).toBe('Images, 1024x1024')
  expect(isPerMillion('per_image 1024x1024')).toBe(false)
})

test('two hours of a chart are not called the same where clocks were put back', () => {
  const hours = (first: string) =>
    Array.from({ length: 3 }, (_, hour) => Date.parse(first) / 1000 + hour * 3600)
  const texts = (times: number[]) => times.map(timeTexts(times, false, 'Europe/Berlin'))
  expect(texts(hours('2026-10-24T00:00:00Z'))).toEqual(['24 Oct, 02:00', '24 Oct, 03:00', '24 Oct, 04:00'])
  expect(texts(hours('2026-10-25T00:00:00Z'))).toEqual([
    '25 Oct, 02:00 GMT+2',
    '25 Oct, 02:00 GMT+1',
    '25 Oct, 03:00 GMT+1',
  ])
})

describe('times', () => {
  const now = Date.parse('2026-11-20T21:04:05.000Z')

  test.each([
    ['2026-11-20T21:03:50.000Z', 'just now'],
    ['2026-11-20T21:03:05.000Z', '1 minute ago'],
    ['2026-11-20T19:00:00.000Z', '2 hours ago'],
    ['2026-11-17T21:04:05.000Z', '3 days ago'],
  ])('%s was %s', (iso, shown) => {
    expect(sinceTime(iso, now)).toBe(shown)
  })

  test('the title says the moment in UTC', () => {
    expect(utcTime('2026-11-20T22:04:05+01:00')).toBe('2026-11-20 21:04:05 UTC')
  })

  test.each([
    [0, '0 ms'],
    [840.4, '840 ms'],
    [999.6, '1.0 s'],
    [1400, '1.4 s'],
    [59_949, '59.9 s'],
    [59_999, '1 min 0 s'],
    [125_000, '2 min 5 s'],
  ])('%p ms are %s', (ms, shown) => {
    expect(duration(ms)).toBe(shown)
  })

  test('days are whole ones of the reader, the last one included, and none where they are the wrong way round', () => {
    const span = { from: new Date(2026, 1, 28).toISOString(), to: new Date(2026, 2, 2).toISOString() }
    expect(readDays('2026-02-28', '2026-03-01')).toEqual(span)
    expect(readDays('2026-02-28', '2026-02-28')?.to).toBe(new Date(2026, 2, 1).toISOString())
    for (const [first, last] of [
      ['2026-03-01', '2026-02-28'],
      ['', '2026-02-28'],
      ['2026-02-28', ''],
      ['yesterday', 'today'],
    ] as const) {
      expect(readDays(first, last)).toBeUndefined()
    }
    expect(typedDay(new Date(2026, 1, 3, 23, 59))).toBe('2026-02-03')
  })

  test('what was typed is a moment of the zone it was typed in', () => {
    expect(readLocalTime('')).toBeUndefined()
    expect(readLocalTime('2026-11-20T21:04')).toBe(new Date(2026, 10, 20, 21, 4).toISOString())
    expect(readLocalTime('soon')).toBeUndefined()
  })
})

describe('numbers', () => {
  test('are grouped, shortened and counted', () => {
    expect(wholeNumber(1234567)).toBe('1,234,567')
    expect(compactNumber(1_250_000)).toBe('1.3M')
    expect(percent(0.425)).toBe('43%')
    expect([byteCount(12), byteCount(131_800_000), byteCount(2.5e9), byteCount(0)]).toEqual([
      '12 B',
      '131.8 MB',
      '2.5 GB',
      '0 B',
    ])
    expect([counted(1, 'key'), counted(2, 'key'), counted(0, 'success', 'successes')]).toEqual([
      '1 key',
      '2 keys',
      '0 successes',
    ])
  })

  test.each([
    ['600', 600],
    [' 2,000,000 ', 2_000_000],
    ['0', 0],
    ['1.5', undefined],
    ['1,5', undefined],
    ['10,00', undefined],
    ['1,000,5', undefined],
    ['-1', undefined],
    ['', undefined],
    ['many', undefined],
  ])('readCount reads %p as %p', (text, count) => {
    expect(readCount(text)).toBe(count)
  })

  test('a list may be separated by anything people use', () => {
    expect(readList(' a, b\nc  a,,')).toEqual(['a', 'b', 'c'])
  })
})

describe('what is pasted into a search', () => {
  test('is of a whole key only what may be in an address', () => {
    const secret = `sk-IKzEsVnR${'a1B'.repeat(16)}`
    expect(pastedKey(secret)).toBe('sk-IKzEsVnR')
    expect(pastedKey(` Authorization: Bearer ${secret}`)).not.toContain('a1B')
    for (const typed of ['sk-IKzEsVnR', 'sk-', 'laptop', 'risk-assessmentsOfTheWholeCompany']) {
      expect(pastedKey(typed)).toBe(typed)
    }
  })

  const id = '019ac0f2-91e5-7394-b50c-15e37e742ed2'
  test.each([
    [id, id],
    [` ${id}\n`, id],
    [`Error code: 502 - The upstream failed (request id: ${id})`, id],
    [`x-request-id: ${id.toUpperCase()}`, id.toUpperCase()],
    [' 019ac0f2-9 ', '019ac0f2-9'],
    ['', ''],
  ])('is the request id in %j', (text, found) => {
    expect(pastedRequestId(text)).toBe(found)
  })
})

test.each([
  ['one@x.example, two@x.example\nthree@x.example  four@x.example;', ['one', 'two', 'three', 'four']],
  ['Ada Lovelace <ada@x.example>; Bob <BOB@x.example>', ['ada', 'bob']],
  ['"Lovelace, Ada; Countess" <ada@x.example>, <bob@x.example> <eve@x.example>', ['ada', 'bob', 'eve']],
  ['ADA@x.example\r\nada@x.example\r\nAda <Ada@X.example>', ['ada']],
  ["o'neil@x.example;a+b@x.example", ["o'neil", 'a+b']],
  [' ;\n, ', []],
])('of what a mail program has as recipients, %j, each address is there once', (text, names) => {
  expect(pastedAddresses(text)).toEqual(names.map(name => `${name}@x.example`))
})

test('what is no address stays in a list of them, to be told of', () => {
  expect(pastedAddresses('nobody\nmailto:a@x.example, Ada <>')).toEqual([
    'nobody',
    'mailto:a@x.example',
    'ada',
    '<>',
  ])
})

test('stacked series lie on top of one another', () => {
  expect(
    stacked([
      [1, 2],
      [10, 20],
      [100, 0],
    ]),
  ).toEqual([
    [1, 2],
    [11, 22],
    [111, 22],
  ])
  expect(stacked([])).toEqual([])
})

describe('headers as lines', () => {
  test('come back as they were', () => {
    const headers = { 'x-team': 'gateway', 'x-url': 'https://a.example/?b=c: d' }
    expect(readHeaderLines(headerLines(headers))).toEqual(headers)
    expect(readHeaderLines('\n')).toEqual({})
  })

  test.each(['no colon', 'bad name: x', ': x'])('refuses %p', line => {
    expect(readHeaderLines(line)).toBeUndefined()
  })
})

describe('prices as texts', () => {
  test('come back as they were', () => {
    const prices = {
      input: '1.25',
      output: '10',
      per_request: '0.000001',
      per_image: { default: '0.04' },
      tiers: [{ above_input_tokens: 200000, input: '2.5' }],
    }
    expect(readPriceTexts(priceTexts(prices))).toEqual({ prices })
  })

  test('no price is lost when a model is edited', () => {
    const prices: Required<Prices> = {
      input: '1',
      cached_input: '2',
      cache_write_5m: '3',
      cache_write_1h: '4',
      output: '5',
      reasoning: '6',
      input_audio: '7',
      output_audio: '8',
      per_request: '9',
      per_video_second: '10',
      per_audio_second: '0.0001',
      per_million_characters: '15',
      per_image: { default: '0.04' },
      tiers: [{ above_input_tokens: 200000, output: '2.5' }],
      service_tiers: { flex: { input: '0.5', tiers: [{ above_input_tokens: 200000, input: '1' }] } },
      changes: [{ from: '2999-01-01', input: '3' }],
    }
    expect(readPriceTexts(priceTexts(prices))).toEqual({ prices })
  })

  test('none at all is no price, which is not the same as free', () => {
    expect(readPriceTexts(priceTexts(null))).toEqual({ prices: null })
    expect(readPriceTexts({ values: { input: '0' }, more: '', changes: [] })).toEqual({
      prices: { input: '0' },
    })
  })

  test('name the field that cannot be read', () => {
    expect(readPriceTexts({ values: { output: '1,5' }, more: '', changes: [] })).toMatchObject({
      field: 'output',
    })
    expect(readPriceTexts({ values: {}, more: '[]', changes: [] })).toMatchObject({ field: 'more' })
    expect(readPriceTexts({ values: {}, more: '{"input": "1"}', changes: [] })).toMatchObject({
      field: 'more',
    })
  })
})

describe('price changes', () => {
  const december = { from: '2026-12-01', input: '4' }
  const january = { from: '2027-01-01', input: '5' }

  test('are planned in the order of their days, one for each day', () => {
    const planned = withChange(withChange({ input: '2' }, january), december)
    expect(planned).toEqual({ input: '2', changes: [december, january] })
    expect(withChange(planned, { ...december, input: '3' }).changes).toEqual([
      { ...december, input: '3' },
      january,
    ])
  })

  test('are taken back by their day', () => {
    const planned = { input: '2', changes: [december, january] }
    expect(withoutChange(planned, '2026-12-01')).toEqual({ input: '2', changes: [january] })
    expect(withoutChange({ input: '2', changes: [december] }, '2026-12-01')).toEqual({ input: '2' })
  })

  test.each([
    ['', /at once[^.]*\. They end with 2026-12-01, from when others are planned\.$/],
    ['2026-12-01', /of 2026-12-01,[^.]*\. They end with 2027-01-01, from when others are planned\.$/],
    ['2027-01-01', /of 2027-01-01, for requests that come from then on\.$/],
  ])('of the day %p say until when they hold', (day, text) => {
    expect(forceInWords({ input: '2', changes: [december, january] }, { input: '3' }, day)).toMatch(text)
  })

  test('say that no price at all has requests refused, and drops what is planned', () => {
    const refused = 'Requests that come from now on are refused: a model without prices cannot be called.'
    expect(forceInWords({ input: '2' }, null, '')).toBe(refused)
    expect(forceInWords({ input: '2', changes: [december, january] }, null, '')).toBe(
      `${refused} What is planned from 2026-12-01 on is dropped.`,
    )
  })

  test.each([
    ['2026-11-23', '2026-11-23'],
    ['', undefined],
    ['2026-11-22', 'refused'],
    ['2025-01-01', 'refused'],
    ['tomorrow', 'refused'],
    ['2026-13-01', 'refused'],
  ])('the day %p is read as %p', (text, day) => {
    const read = () => {
      try {
        return typedFutureDay(text, 'from', new Date('2026-11-22T23:59:59Z'))
      } catch (error) {
        return error instanceof ApiFailure ? 'refused' : error
      }
    }
    expect(read()).toBe(day)
  })
})

test.each([
  ['credit_exhausted', 'more credit, or fewer output tokens'],
  ['rate_limited', 'when to come back'],
  ['account_suspended', 'Until an administrator resumes it'],
])('a receipt that says %s says what is to be done about it', (code, words) => {
  expect(errorReason(code)).toContain(words)
})
