import { afterEach, expect, setSystemTime, test } from 'bun:test'
import { newRequestId } from '@/clock/request-id.ts'

afterEach(() => {
  setSystemTime()
})

const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

test('request ids are of the time that the clock says, also once it was set back', () => {
  const now = Date.now()
  for (const at of [now + 86_400_000, now, now - 86_400_000]) {
    setSystemTime(at)
    const [one, other] = [newRequestId(), newRequestId()]
    expect([timeOf(one), timeOf(other), one[14]]).toEqual([at, at, '7'])
    expect(one).not.toBe(other)
  }
})
