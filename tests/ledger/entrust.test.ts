import { afterAll, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import type { HoldRequest } from '@/ledger/types.ts'
import { costOf, holdOf, ledgerFixture, type Payer } from './fixture.ts'

const fixture = await ledgerFixture()
const { store } = fixture
const ledger = await fixture.open()
const { sql, url } = fixture.database
afterAll(() => fixture.close())

/** A hold that a job answers for; its process is dead, and its opening is an hour ago. */
async function entrustedHold(payer: Payer, { hasJob, deadline }: { hasJob: boolean; deadline: string }) {
  const request = holdOf(payer, 10n)
  const process = await fixture.open()
  await process.hold(request)
  await sql.begin(async tx => {
    if (hasJob) {
      await tx`insert into video_job (id, account_id, key_id, model, called_model, channel, channel_format,
        upstream_model, upstream_id, content, ordered_seconds, price_version, deadline, look_at)
        values (${request.id}, ${payer.accountId}, ${payer.keyId}, 'm', 'm', 'c', 'openai-responses', 'm', 'v', '\\x00',
        4, 1, now(), now())`
    }
    await tx`select ledger_entrust(${request.id}, ${payer.accountId}, ${deadline}::text::timestamptz)`
  })
  process.entrusted(request.id)
  expect(process.state().openHolds).toBe(0)
  await process.close()
  await sql`update hold set opened_at = now() - interval '1 hour' where id = ${request.id}`
  return request
}

async function orphans(payer: Payer, check = 'orphan_holds'): Promise<number | undefined> {
  const report = await audit(url, { accountId: payer.accountId })
  return report.checks.find(({ name }) => name === check)?.count
}

/** Jobs that say they have money set aside, and have none. */
const pennilessJobs = (payer: Payer) => orphans(payer, 'job_holds')

const pendingOf = async ({ accountId }: Payer) => (await store.balance(accountId))?.pendingNano

const settled = (request: HoldRequest, payer: Payer) =>
  ledger.settle(costOf({ ...payer, id: request.id }, 7n))

test('the hold of a job outlives the process that took it, and is settled once by another', async () => {
  const payer = await fixture.payer(100n)
  const request = await entrustedHold(payer, { hasJob: true, deadline: '2100-01-01' })
  await fixture.reap()
  expect(await pendingOf(payer)).toBe(10n)
  expect(await orphans(payer)).toBe(0)
  expect(await settled(request, payer)).toMatchObject({ outcome: 'settled', chargedNano: 7n })
  expect(await settled(request, payer)).toMatchObject({ outcome: 'duplicate' })
  expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 93n, pendingNano: 0n })
})

test('holds of jobs, however many, keep the reaper from nobody', async () => {
  const payer = await fixture.payer(100n)
  for (const deadline of ['2100-01-01', '2000-01-01']) await entrustedHold(payer, { hasJob: true, deadline })
  const request = holdOf(payer, 30n)
  await ledger.hold(request)
  await sql`update hold set deadline = '-infinity' where id = ${request.id}`
  expect((await store.reap(3_600_000, 1)).map(({ id }) => id)).toEqual([request.id])
  expect(await pendingOf(payer)).toBe(20n)
})

test.each([
  ['no job answers for it', { hasJob: false, deadline: '2100-01-01' }],
  ['its job was forgotten', { hasJob: true, deadline: '2000-01-01' }],
])('is told by the audit and never released by itself when %s', async (_, how) => {
  const payer = await fixture.payer(100n)
  const request = await entrustedHold(payer, how)
  await fixture.reap()
  expect(await pendingOf(payer)).toBe(10n)
  expect(await orphans(payer)).toBe(1)
  await ledger.release({ ...payer, id: request.id })
  expect(await orphans(payer)).toBe(0)
})

test.each([
  ['was closed', (id: string) => sql`update video_job set money = 'charged' where id = ${id}`],
  [
    'is of another account',
    async (id: string) => {
      const { accountId } = await fixture.payer(100n)
      await sql`update video_job set account_id = ${accountId} where id = ${id}`
    },
  ],
])('the audit tells of a hold whose job %s', async (_, change) => {
  const payer = await fixture.payer(100n)
  const { id } = await entrustedHold(payer, { hasJob: true, deadline: '2100-01-01' })
  expect(await orphans(payer)).toBe(0)
  await change(id)
  expect(await orphans(payer)).toBe(1)
})

test.each([
  ['was given back', (request: HoldRequest) => ledger.release(request)],
  ['is gone', (request: HoldRequest) => sql`delete from hold where id = ${request.id}`],
  [
    'is in the hands of a process',
    async ({ id }: HoldRequest) => {
      // A busy machine may have had it taken for dead.
      await ledger.beat()
      await sql`update hold set owner = (select max(id::text)::uuid from process) where id = ${id}`
    },
  ],
])('the audit tells of a job whose money %s, once nobody looks at it', async (_, lose) => {
  const payer = await fixture.payer(100n)
  const request = await entrustedHold(payer, { hasJob: true, deadline: '2100-01-01' })
  const leaseFor = (time: string) =>
    sql`update video_job set leased_until = now() + ${time}::text::interval where id = ${request.id}`
  await leaseFor('-3 seconds')
  expect(await pennilessJobs(payer)).toBe(0)
  await lose(request)
  expect(await pennilessJobs(payer)).toBe(1)
  await leaseFor('1 minute')
  expect(await pennilessJobs(payer)).toBe(0)
  await sql`update video_job set leased_until = null, created_at = now() - interval '3 seconds' where id = ${request.id}`
  expect(await pennilessJobs(payer)).toBe(1)
  await sql`update video_job set money = 'released' where id = ${request.id}`
  expect(await pennilessJobs(payer)).toBe(0)
})

test('a hold is entrusted to no job of another account', async () => {
  const [payer, other] = [await fixture.payer(100n), await fixture.payer(100n)]
  const request = holdOf(payer, 10n)
  await ledger.hold(request)
  const [row] = await sql<{ kept: boolean }[]>`
    select ledger_entrust(${request.id}, ${other.accountId}, now() + interval '1 hour') as kept`
  expect(row?.kept).toBe(false)
  await sql`update hold set deadline = now() - interval '1 second' where id = ${request.id}`
  await fixture.reap()
  expect(await pendingOf(payer)).toBe(0n)
})

test.each([
  ['', {}],
  [' within the cap of its key', { cap: { amountNano: 100n, period: 'day' as const } }],
])(
  'a hold that is gone is set aside anew for its job%s, whatever the account has by then',
  async (_, options) => {
    const payer = await fixture.payer(100n, options)
    const request = holdOf(payer, 60n)
    await ledger.hold(request)
    await sql`update hold set deadline = now() - interval '1 second' where id = ${request.id}`
    await fixture.reap()
    const other = holdOf(payer, 90n)
    await ledger.hold(other)
    const entrust = () => sql<{ kept: boolean }[]>`select ledger_entrust(${request.id}, ${payer.accountId},
    now() + interval '1 hour', ${payer.keyId}, 60, 1) as kept`
    for (const _again of [1, 2]) expect(await entrust()).toMatchObject([{ kept: true }])
    expect(await pendingOf(payer)).toBe(150n)
    expect(await orphans(payer, 'pending')).toBe(0)
    expect(await settled(request, payer)).toMatchObject({ outcome: 'settled', chargedNano: 7n })
    await ledger.release(other)
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 93n, pendingNano: 0n })
    expect(await entrust()).toMatchObject([{ kept: false }])
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  },
)

test('a hold that is gone cannot be entrusted, and its cost is posted as a correction', async () => {
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 10n)
  await ledger.hold(request)
  await sql`update hold set deadline = now() - interval '1 second' where id = ${request.id}`
  await fixture.reap()
  const [row] = await sql<{ kept: boolean }[]>`
    select ledger_entrust(${request.id}, ${payer.accountId}, now() + interval '1 hour') as kept`
  expect(row?.kept).toBe(false)
  expect(await settled(request, payer)).toMatchObject({ outcome: 'trued_up', chargedNano: 7n })
  const [late] = await sql<{ kept: boolean }[]>`
    select ledger_entrust(${request.id}, ${payer.accountId}, now() + interval '1 hour', ${payer.keyId}, 10, 1) as kept`
  expect([late?.kept, await pendingOf(payer)]).toEqual([false, 0n])
})
