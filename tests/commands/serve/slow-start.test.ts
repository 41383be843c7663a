import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { tellOfSlowStart } from '@/commands/serve/slow-start.ts'

function started() {
  const lines: unknown[] = []
  const clock = manualClock()
  const isThere = tellOfSlowStart({ warn: (line: unknown) => lines.push(line) }, clock)
  return { clock, isThere, lines }
}

test('a start that waits says once what for', () => {
  const { clock, lines } = started()
  clock.advance(19_999)
  expect(lines).toEqual([])
  clock.advance(60_000)
  expect(lines).toEqual([expect.stringContaining('a pooler needs room')])
})

test('one that is over says nothing', () => {
  const { clock, isThere, lines } = started()
  isThere()
  clock.advance(60_000)
  expect(lines).toEqual([])
})
