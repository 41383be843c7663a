import { expect, test } from 'bun:test'
import { conversion } from './deltas.ts'
import { median } from './measure.ts'

/** The bound of the project: a Chat delta becomes a Messages event in 3 µs. */
const BOUND_US = 3
/** What a busy machine and a cold compiler may add. */
const SLACK = 3

/** Neighbours can spoil a try; code that is too slow spoils all of them. */
const TRIES = 5

test('one Chat text delta becomes a Messages event within its bound', () => {
  const convert = conversion('openai-chat-completions', 'anthropic-messages')
  timeOf(convert, 20_000) // until the compiler has seen enough
  const times: number[] = []
  while (times.length < TRIES && !times.some(isWithin)) {
    times.push(median(Array.from({ length: 30 }, () => timeOf(convert, 500))))
  }
  expect(Math.min(...times)).toBeLessThan(BOUND_US * SLACK)
})

function isWithin(timeUs: number): boolean {
  return timeUs < BOUND_US * SLACK
}

/** µs for one call, by the process's own CPU time, which neighbours do not move. */
function timeOf(step: () => void, calls: number): number {
  const start = process.cpuUsage()
  for (let call = 0; call < calls; call += 1) step()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / calls
}
