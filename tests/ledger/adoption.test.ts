import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { Adoption } from '@/ledger/adoption.ts'
import { encodeRecords } from '@/ledger/spill/journal.ts'
import { TIMINGS } from '@/ledger/timings.ts'
import { createLog } from '@/telemetry/log.ts'
import { costOf, holdOf, ledgerFixture, newId } from './fixture.ts'

/** One that goes on until it is let go. */
function slowAdoption() {
  const runs: PromiseWithResolvers<void>[] = []
  const signals: AbortSignal[] = []
  const adoption = new Adoption(signal => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    signals.push(signal)
    return run.promise
  })
  return { adoption, runs, signals }
}

test('whoever asks while the dead are taken in waits for that, and whoever asks later has it done anew', async () => {
  const { adoption, runs } = slowAdoption()
  expect(adoption.isUnderway).toBe(false)
  const both = [adoption.run(), adoption.run()]
  expect([runs.length, adoption.isUnderway]).toEqual([1, true])
  runs[0]?.resolve()
  await Promise.all(both)
  expect(adoption.isUnderway).toBe(false)
  const failing = adoption.run()
  runs[1]?.reject(new Error('away'))
  await expect(failing).rejects.toThrow('away')
  const again = adoption.run()
  runs[2]?.resolve()
  await again
  expect(runs).toHaveLength(3)
})

test('whoever stops it says so and waits until it has ended, and hears how', async () => {
  const { adoption, runs, signals } = slowAdoption()
  const run = adoption.run().catch(String)
  expect(signals[0]?.aborted).toBe(false)
  const stopped = adoption.stop()
  expect(signals[0]?.aborted).toBe(true)
  await new Promise(resolve => setImmediate(resolve))
  expect(Bun.peek.status(stopped)).toBe('pending')
  runs[0]?.reject(new Error('away'))
  await expect(stopped).rejects.toThrow('away')
  expect(await run).toBe('Error: away')
})

const fixture = await ledgerFixture()
const { sql } = fixture.database
afterAll(() => fixture.close())

const { adoptionPatienceMs } = TIMINGS

test('a start does not wait long for what the dead left; meanwhile their holds are kept for it', async () => {
  const payer = await fixture.payer(100n)
  const [noted, unknown] = [holdOf(payer, 10n), holdOf(payer, 20n)]
  const dead = newId()
  await fixture.store.register(dead, 'test')
  await fixture.store.hold(dead, [noted, unknown])
  await sql`update process set seen = now() - interval '1 minute' where id = ${dead}`
  await fixture.store.progress(dead, new Map([[noted.id, 3n]]))
  const lock = await sql.reserve()
  await lock`begin`
  await lock`select from wallet where account_id = ${payer.accountId} for update`
  const [locker] = await lock`select pg_backend_pid() as pid`
  writeFileSync(join(fixture.directory, `${dead}.journal`), encodeRecords([costOf(noted, 7n)]))

  const clock = manualClock()
  // A statement that is given up is tried again after a pause, by a clock that stands still.
  const timings = { adoptionPatienceMs, statementTimeoutMs: 600_000, connectionTimeoutMs: 600_000 }
  const opening = fixture.open({ clock, timings })
  await until(async () => {
    const [row] = await sql`
      select from pg_stat_activity
      where datname = current_database() and ${locker?.['pid']} = any(pg_blocking_pids(pid))`
    return row !== undefined
  })
  clock.advance(adoptionPatienceMs)
  const ledger = await opening
  const beats = async () => {
    for (let passed = 0; passed <= TIMINGS.deadAfterMs; passed += TIMINGS.heartbeatMs) {
      clock.advance(TIMINGS.heartbeatMs)
      await ledger.beat()
    }
  }
  await beats()
  const balance = () => fixture.store.balance(payer.accountId)
  expect(await balance()).toMatchObject({ balanceNano: 100n, pendingNano: 30n })

  await lock`commit`
  lock.release()
  await ledger.maintain()
  await beats()
  // Heartbeats of the clock's are on their way beside these, and of two that reap one leaves it to the other.
  await until(async () => (await balance())?.pendingNano === 0n)
  expect(await balance()).toMatchObject({ balanceNano: 93n })
})

test('a start that cannot take in a file of what the dead left says so, takes in the others, and serves', async () => {
  const payer = await fixture.payer(100n)
  const unreadable = join(fixture.directory, 'unreadable.journal')
  mkdirSync(unreadable)
  const charge = costOf({ ...payer, id: newId() }, 7n)
  writeFileSync(join(fixture.directory, 'readable.journal'), encodeRecords([charge]))
  const lines: string[] = []
  const log = createLog({ level: 'error', format: 'json' }, { write: line => lines.push(line) })
  const { promise: adopted, resolve } = Promise.withResolvers<void>()
  const onAdopted = async () => resolve()
  const ledger = await fixture.open({ log, onAdopted })
  // A start waits half a second for it, which a busy machine may need.
  await adopted
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { journal: unreadable, msg: 'what a process left in its journal could not be taken in' },
  ])
  expect(await fixture.store.balance(payer.accountId)).toMatchObject({ balanceNano: 93n })
  expect(await ledger.hold(holdOf(payer, 10n))).toMatchObject({ granted: true })
  rmSync(unreadable, { recursive: true })
})
