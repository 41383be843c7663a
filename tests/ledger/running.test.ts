import { expect, test } from 'bun:test'
import { RunningHolds } from '@/ledger/running.ts'

/** What a checkpoint has stored. */
async function stored(running: RunningHolds): Promise<[string, bigint][]> {
  const costs: [string, bigint][] = []
  await running.checkpoint(async grown => {
    costs.push(...grown)
    return []
  })
  return costs
}

test('a checkpoint stores what has grown since the last one, and never less than was known', async () => {
  const running = new RunningHolds()
  running.begin('a')
  running.begin('b')
  running.progress('a', 9n)
  running.progress('a', 4n)
  expect(await stored(running)).toEqual([['a', 9n]])
  running.progress('b', 1n)
  expect(await stored(running)).toEqual([['b', 1n]])
  expect(await stored(running)).toEqual([])
})

test('a checkpoint that failed is made up for by the next', async () => {
  const running = new RunningHolds()
  running.begin('a')
  running.progress('a', 9n)
  const failed = running.checkpoint(() => Promise.reject(new Error('away')))
  expect(await failed.catch(error => error.message)).toBe('away')
  expect(await stored(running)).toEqual([['a', 9n]])
})
