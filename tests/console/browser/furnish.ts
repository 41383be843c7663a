import type { Visitor } from '#tests/support/browser.ts'
import { addModel, addSimulator, createKey, type Stage } from './stage.ts'

export const FURNISHED_MODEL = 'acme/echo'

/** Puts something on every page of an owner who is signed in: vendor, models, keys, requests of many ends over a week, codes, entries. */
export async function furnish(
  stage: Stage,
  owner: Visitor,
): Promise<{ accountId: number; requestId: string }> {
  await addSimulator(owner, stage)
  await addModel(owner, {
    id: FURNISHED_MODEL,
    there: 'echo',
    perRequest: '0.02',
    input: '1.25',
    output: '10',
  })
  await addModel(owner, {
    id: 'acme/thinker',
    there: 'reason',
    perRequest: '0.001',
    input: '3',
    output: '15',
  })
  const key = await createKey(owner, 'laptop')
  const { id: requestId } = await stage.ask(key, FURNISHED_MODEL)
  await stage.ask(key, 'acme/thinker', 'What is the answer?')
  await stage.ask(key, 'acme/unknown')
  const [row] = await stage.database.sql`select id, account_id from api_key order by id limit 1`
  const accountId = Number(row?.['account_id'])
  await seedRequests(stage, { accountId, keyId: Number(row?.['id']), count: 400, hours: 24 * 7 })
  await owner.page.goto('/admin/redeem-codes')
  await owner.page.getByRole('button', { name: 'Make codes' }).first().click()
  await owner.page.getByLabel('Amount in').fill('5.00')
  await owner.page.getByLabel('How many codes').fill('3')
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Make codes' }).click()
  await owner.page.getByRole('button', { name: 'I have copied them' }).click()
  await owner.page.goto('/admin/audit')
  await owner.page.getByRole('button', { name: 'Audit now' }).click()
  await owner.page.getByText('The last audit found').waitFor()
  await refuseCharge(stage, requestId, 'new row for relation "entry" violates a rule that somebody has added')
  return { accountId, requestId }
}

/** A charge as the ledger keeps it that the database has refused: more than it has numbers for, so that it stays refused. */
export async function refuseCharge({ database }: Stage, requestId: string, reason: string): Promise<void> {
  await database.sql`
    insert into refused_settlement (id, account_id, key_id, cost_nano, cost_pico, reason)
    select id, account_id, key_id, 9223372036854775808, 9223372036854775808000, ${reason} from exchange where id = ${requestId}`
}

/** Results of requests as the relay would have written them, spread evenly over the last hours. They cost nothing. */
export async function seedRequests(
  { database }: Stage,
  { accountId, keyId, count, hours }: { accountId: number; keyId: number; count: number; hours: number },
): Promise<void> {
  await database.sql`
    insert into exchange (id, account_id, key_id, model, channel, channel_format, surface, streamed,
      input_uncached, output_text, usage_source, status, end_state, error_code, started_at, first_byte_ms, total_ms,
      attempts)
    select
      (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000' || '8000'
        || lpad(to_hex(n), 12, '0'))::uuid,
      ${accountId}, ${keyId}, (array['acme/echo', 'acme/thinker', 'acme/other'])[1 + n % 3], 'simulator',
      'openai-chat-completions', 'chat', n % 4 <> 0, 200 + n % 900, 50 + n % 300, 'reported',
      case when n % 11 = 0 then 502 when n % 7 = 0 then 429 else 200 end,
      case when n % 11 = 0 then 'upstream_error' when n % 7 = 0 then 'refused' else 'complete' end,
      case when n % 11 = 0 then 'upstream_error' when n % 7 = 0 then 'rate_limited' end,
      at, 100 + n % 400, 900 + n % 3000, 1
    from (
      select n, now() - make_interval(secs => ${hours * 3600}::float8 * n / ${count}) as at
      from generate_series(1, ${count}::int) as n
    ) as seeded`
}
