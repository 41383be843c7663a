import { expect, test } from 'bun:test'
import { RunningHolds } from '@/ledger/running.ts'
import type { Stop } from '@/ledger/types.ts'

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

test('a checkpoint in whose middle an exchange ends stores all, and tells who must end', async () => {
  const running = new RunningHolds()
  running.begin('a')
  running.begin('b')
  running.progress('a', 9n)
  running.progress('b', 1n)
  const stops = await running.checkpoint(async () => {
    running.end('a')
    return [{ id: 'b', reason: 'key_revoked' }]
  })
  expect(stops).toEqual([{ id: 'b', reason: 'key_revoked' }])
  expect(await stored(running)).toEqual([])
})

test('where nothing runs there is no checkpoint to store', async () => {
  const running = new RunningHolds()
  running.begin('a')
  running.end('a')
  const asked = () => Promise.reject(new Error('the database was asked'))
  expect(await running.checkpoint(asked)).toEqual([])
})

test('who must end is told so once, if it runs here', async () => {
  const running = new RunningHolds()
  running.begin('a')
  const stops: Stop[] = ['a', 'elsewhere'].map(id => ({ id, reason: 'key_revoked' }))
  expect(await running.checkpoint(async () => stops)).toEqual([{ id: 'a', reason: 'key_revoked' }])
  expect(await running.checkpoint(async () => stops)).toEqual([])
})

test('a charge is noted of what runs here, whose end says what was noted', () => {
  const running = new RunningHolds()
  const charge = { id: 'a', accountId: 1, keyId: 1, costNano: 2n, costPico: 2000n }
  expect(running.note(charge)).toBe(false)
  running.begin('a')
  expect(running.note(charge)).toBe(true)
  expect([running.end('a'), running.end('a'), running.note(charge)]).toEqual([2000n, undefined, false])
})
