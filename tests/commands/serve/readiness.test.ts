import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { unreadiness } from '@/commands/serve/readiness.ts'
import type { Database } from '@/db/connect.ts'
import type { ApiGateway } from '@/surfaces/api-host.ts'

/** A gateway of which nothing but this is asked. */
function gatewayWith(
  clock: ApiGateway['clock'],
  holdFailureAgoMs?: number,
): Pick<ApiGateway, 'draining' | 'ledger' | 'clock'> {
  const state = () => ({ healthy: true, holdFailureAgoMs, journal: 'empty' })
  return { draining: false, clock, ledger: { state } as ApiGateway['ledger'] }
}

/** A database whose statements end as this does. */
function databaseWith(answer: () => Promise<unknown>): Pick<Database, 'sql'> {
  return { sql: answer as unknown as Database['sql'] }
}

test('a database that hangs makes a process unready before whoever probes has given up', async () => {
  const clock = manualClock()
  const reason = unreadiness(
    gatewayWith(clock),
    databaseWith(() => new Promise(() => {})),
  )
  clock.advance(1_500)
  expect(await reason).toBe('the database does not answer')
})

test.each([
  ['answers', async () => [], undefined],
  ['fails', () => Promise.reject(new Error('away')), 'the database does not answer'],
])('a database that %s is told of at once', async (_does, answer, reason) => {
  expect(await unreadiness(gatewayWith(manualClock()), databaseWith(answer))).toBe(reason)
})

test.each([
  ['a moment ago', 100, 'billing is unavailable'],
  ['long ago', 60_000, undefined],
])('a database that answers, and took no hold %s', async (_when, holdFailureAgoMs, reason) => {
  const database = databaseWith(async () => [])
  expect(await unreadiness(gatewayWith(manualClock(), holdFailureAgoMs), database)).toBe(reason)
})
