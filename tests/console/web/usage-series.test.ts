import { describe, expect, test } from 'bun:test'
import {
  bucketsInPart,
  drawnValues,
  fewest,
  type Series,
  totalText,
} from '@/console/web/pages/requests/usage-series.ts'

function seriesOf(id: string, spend: string, failed: number): Series {
  return {
    id,
    name: id,
    spend: [spend],
    requests: [9],
    failed: [failed],
    input_tokens: [3],
    output_tokens: [4],
  }
}

const MODELS = Array.from({ length: 12 }, (_, index) =>
  seriesOf(`model ${index}`, `${20 - index}.00`, index === 11 ? 7 : 0),
)

test('a chart of what did not complete tells apart what fails most, however little it spends', () => {
  const namesOf = (measure: 'spend' | 'failed') => fewest(MODELS, measure).map(({ name }) => name)
  expect(namesOf('spend')).toEqual([...MODELS.slice(0, 7).map(({ name }) => name), '5 others'])
  expect(namesOf('failed')[0]).toBe('model 11')
  expect(namesOf('failed').at(-1)).toBe('5 others')
})

test('all those that the server tells no further apart stay the last, and lose nothing', () => {
  const series = fewest([...MODELS, seriesOf('*', '99.00', 40)], 'failed')
  expect(series).toHaveLength(8)
  expect(series.at(-1)).toMatchObject({ id: '*', name: 'All others', failed: [40], requests: [54] })
  const failed = series.flatMap(one => drawnValues(one, 'failed'))
  expect(failed.reduce((sum, count) => sum + count, 0)).toBe(47)
  expect(totalText(series[0] ?? seriesOf('', '0', 0), 'failed', 'USD')).toBe('7')
})

describe('of a chart what is not counted whole is', () => {
  const HOURS = ['2026-11-27T20:00:00Z', '2026-11-27T21:00:00Z', '2026-11-27T22:00:00Z']
  const DAYS = [26, 27].map(day => new Date(2026, 10, day).toISOString())
  const [from, to] = ['2026-11-27T20:20:00Z', '2026-11-27T22:20:00Z']

  test('the hour in which it begins, and the one that runs', () => {
    const found = bucketsInPart({ buckets: HOURS, bucket: 'hour', from, to }, Date.parse(to))
    expect(found).toEqual([HOURS[0] ?? '', HOURS[2] ?? ''])
  })

  test('the day that runs, also where all of it was asked for, and none that is over', () => {
    const [first = '', today = ''] = DAYS
    const asked = {
      buckets: DAYS,
      bucket: 'day',
      from: first,
      to: new Date(2026, 10, 28).toISOString(),
    } as const
    expect(bucketsInPart(asked, new Date(2026, 10, 27, 22).getTime())).toEqual([today])
    expect(bucketsInPart(asked, new Date(2026, 10, 28).getTime())).toEqual([])
  })
})
