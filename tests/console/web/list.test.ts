import { describe, expect, test } from 'bun:test'
import { appendPage, prependItems, readPages } from '@/console/web/api/page.ts'
import { logAddress } from '@/console/web/pages/requests/log-address.ts'
import { type LineFilter, matchesFilter, timeOf } from '@/console/web/stream/line-filter.ts'

const idOf = (item: { id: number }) => item.id

describe('a list read page by page', () => {
  test('goes on where the page before ended', () => {
    const list = appendPage(
      { items: [{ id: 3 }, { id: 2 }], next: 'c1' },
      { items: [{ id: 1 }], next: null },
      idOf,
    )
    expect(list).toEqual({ items: [{ id: 3 }, { id: 2 }, { id: 1 }], next: null })
  })

  test('shows a row once, even if both pages have it', () => {
    const list = appendPage(
      { items: [{ id: 3 }, { id: 2 }], next: 'c1' },
      { items: [{ id: 2 }, { id: 1 }], next: 'c2' },
      idOf,
    )
    expect(list.items).toEqual([{ id: 3 }, { id: 2 }, { id: 1 }])
  })

  describe('and then anew', () => {
    const ask = async (cursor = '9') => ({ items: [{ id: Number(cursor) }], next: `${Number(cursor) - 1}` })

    test('is asked for as many pages, and for no more items than may be', async () => {
      const list = await readPages(ask, { count: 3, most: 1000 }, idOf)
      expect(list).toEqual({ items: [{ id: 9 }, { id: 8 }, { id: 7 }], next: '6' })
      expect((await readPages(ask, { count: 3, most: 2 }, idOf)).items).toHaveLength(2)
    })

    test('ends with the last page', async () => {
      const list = await readPages(
        async () => ({ items: [{ id: 1 }], next: null }),
        { count: 3, most: 9 },
        idOf,
      )
      expect(list).toEqual({ items: [{ id: 1 }], next: null })
    })

    test('ends before a page that cannot be read, and without the first is none', async () => {
      const lost = async (cursor: string) => Promise.reject(new Error(`no page ${cursor}`))
      const list = await readPages(c => (c === '7' ? lost(c) : ask(c)), { count: 3, most: 9 }, idOf)
      expect(list).toEqual({ items: [{ id: 9 }, { id: 8 }], next: '7' })
      expect(readPages(() => lost('9'), { count: 3, most: 9 }, idOf)).rejects.toThrow('no page 9')
    })
  })
})

describe('a list that grows by itself', () => {
  const shown = { items: [{ id: 3 }, { id: 2 }], next: 'c1' }

  test('has the newest in front, and goes on where it did', () => {
    expect(prependItems([{ id: 4 }, { id: 3 }], shown, 3, idOf)).toEqual({
      items: [{ id: 4 }, { id: 3 }, { id: 2 }],
      next: 'c1',
    })
  })

  test('lets the oldest go, and goes on nowhere rather than behind a gap', () => {
    expect(prependItems([{ id: 5 }, { id: 4 }], shown, 3, idOf)).toEqual({
      items: [{ id: 5 }, { id: 4 }, { id: 3 }],
      next: null,
    })
  })
})

describe('a live line', () => {
  const line = {
    id: '019a0000-0000-7000-8000-00000000000a',
    account_id: 1,
    account_email: null,
    key_id: 7,
    key_name: 'laptop',
    model: 'demo/echo',
    surface: 'chat' as const,
    streamed: true,
    status: 429,
    end_state: 'refused' as const,
    error_code: 'rate_limited',
    started_at: '2026-11-20T21:04:05.000Z',
    first_byte_ms: null,
    total_ms: 3,
    input_tokens: 0,
    output_tokens: 0,
    cost: null,
    channel: null,
  }
  const all: LineFilter = {
    model: '',
    key: '',
    status: '',
    end: '',
    id: '',
    account: '',
    channel: '',
    since: '',
    first: '',
    last: '',
  }

  test('passes where nothing is asked', () => {
    expect(matchesFilter(line, all)).toBe(true)
  })

  test.each<[Partial<LineFilter>, boolean]>([
    [{ model: 'demo/echo' }, true],
    [{ model: 'demo' }, false],
    [{ key: '7' }, true],
    [{ key: '77' }, false],
    [{ status: '4xx' }, true],
    [{ status: '429' }, true],
    [{ status: '5xx' }, false],
    [{ end: 'refused' }, true],
    [{ end: 'complete' }, false],
    [{ end: 'incomplete' }, true],
    [{ since: 'hour' }, true],
    [{ since: 'days', first: '2026-11-19', last: '2026-11-22' }, true],
    [{ since: 'days', first: '2026-11-17', last: '2026-11-18' }, false],
    [{ since: 'days', first: '', last: '' }, true],
    [{ id: '019A0000' }, true],
    [{ id: 'ffff' }, false],
    [{ account: '1' }, true],
    [{ account: '2' }, false],
    [{ channel: 'openai' }, false],
    [{ model: 'demo/echo', status: '2xx' }, false],
  ])('under %p is shown: %p', (filter, isShown) => {
    expect(matchesFilter(line, { ...all, ...filter })).toBe(isShown)
  })
})

describe('the requests of a series of a chart', () => {
  const time = { since: 'days', first: '2026-11-23', last: '2026-11-23' }
  const state = { range: 'days', from: '2026-11-23', to: '2026-11-23', show: 'spend', by: 'key' }
  const days = 'since=days&first=2026-11-23&last=2026-11-23'

  test.each([
    ['/api', undefined, 'key', '7', `/requests?key=7&${days}`],
    ['/api', undefined, 'model', 'acme/echo & more', `/requests?model=acme%2Fecho+%26+more&${days}`],
    ['/api/admin', 4, 'channel', 'openai', `/admin/traffic?account=4&channel=openai&${days}`],
    [
      '/api/admin',
      undefined,
      'account',
      '4',
      `/admin/traffic?range=days&from=2026-11-23&to=2026-11-23&show=spend&by=key&account=4&${days}`,
    ],
  ] as const)('are where they are listed: %s, account %p, by %s', (at, accountId, by, id, address) => {
    expect(logAddress({ at, accountId, by, state }, id, time)).toBe(address)
  })

  test('that did not complete are those alone', () => {
    const chart = { at: '/api', accountId: undefined, by: 'key', state } as const
    expect(logAddress(chart, '7', { ...time, end: 'incomplete' })).toBe(
      `/requests?key=7&${days}&end=incomplete`,
    )
  })

  test.each([
    ['model', ''],
    ['key', '*'],
    ['service_tier', 'priority'],
  ])('are nowhere, by %s %p', (by, id) => {
    expect(logAddress({ at: '/api', accountId: undefined, by, state }, id, time)).toBeUndefined()
  })
})

test('days that are none are no time, not all of it', () => {
  expect(timeOf({ since: 'days', first: '2026-11-20', last: '2026-11-19' }, 0)).toBeUndefined()
})

test.each([
  ['hour', { from: '2026-11-20T11:00:00.000Z' }],
  ['month', { from: '2026-10-21T12:00:00.000Z' }],
  ['', {}],
  ['constructor', {}],
])('a log since %p is of %p', (since, time) => {
  expect(timeOf({ since, first: '', last: '' }, Date.parse('2026-11-20T12:00:00Z'))).toEqual(time)
})
