import { ledgerFixture } from '#tests/ledger/fixture.ts'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { addUpUsage } from '@/console/requests/usage-totals.ts'
import { audit } from '@/ledger/audit.ts'

const BOUND_MS = 10_000
const ACCOUNTS = 1_000

/** `bun run chaos audit [ENTRIES]`: how long the full audit of so many entries takes, each with its exchange. */
export async function run(args: readonly string[]): Promise<boolean> {
  const entries = Number(args[0] ?? 1_000_000)
  const each = Math.floor(entries / ACCOUNTS)
  const fixture = await ledgerFixture()
  const { sql, url } = fixture.database
  try {
    await sql.begin(async tx => {
      await tx`insert into account (email, status, on_trial)
        select 'a' || n || '@example.com', 'active', false from generate_series(1, ${ACCOUNTS}::integer) n`
      await tx`insert into price_version (model_id, rates, source) values ('m', '{"input": "3000", "output": "4000"}', 'file')`
      await tx`select ledger_open_account(id, 1000000000000, 'topup') from account`
      // A UUIDv7 of the last hours, made of the account and the number: time in ms, version 7, variant 8.
      await tx`create temporary table made on commit drop as
        select a.id as account_id, n, now() - interval '2 hours' as at,
          (lpad(to_hex(floor(extract(epoch from now() - interval '2 hours') * 1000)::bigint + n), 12, '0') || '7000'
            || '8000' || lpad(to_hex(a.id), 12, '0'))::uuid as id
        from account a, generate_series(1, ${each}::integer) n`
      await tx`insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico, created_at)
        select id, 'usage', account_id, n + 1, -7, 1000000000000 - 7 * n, 7000, at from made`
      await tx`insert into exchange (id, account_id, key_id, model, surface, streamed, input_uncached, cache_read,
          cache_write5m, cache_write1h, output_text, reasoning, audio_input, audio_output, usage_source, price_version,
          cost_nano, cost_pico, status, end_state, started_at, total_ms, attempts)
        select id, account_id, 1, 'm', 'chat', true, 1, 0, 0, 0, 1, 0, 0, 0, 'reported', 1, 7, 7000, 200, 'complete', at, 5, 1
        from made`
      await tx`update wallet w set debits = 7 * ${each}::bigint, seq = ${each}::bigint + 1, last_entry_id = m.id
        from made m where m.account_id = w.account_id and m.n = ${each}::integer`
    })
    await addUpUsage(fixture.database, 0)
    await sql`analyze`
    const start = performance.now()
    const report = await audit(url)
    const tookMs = performance.now() - start
    const again = performance.now()
    await audit(url, { sinceCheckpoint: true })
    const sinceMs = performance.now() - again
    const failures = report.checks.filter(({ count, informational }) => count > 0 && !informational)
    console.log(
      `audit: ${each * ACCOUNTS} entries of ${ACCOUNTS} accounts in ${(tookMs / 1000).toFixed(1)} s (at most ${BOUND_MS / 1000}), ` +
        `since the checkpoint in ${(sinceMs / 1000).toFixed(2)} s; ${failures.length} failures`,
    )
    for (const { name, first } of failures) console.log(`  ${name}: ${first.slice(0, 3).join('; ')}`)
    return report.ok && tookMs < BOUND_MS
  } finally {
    await fixture.close()
    await closeTestServer()
  }
}
