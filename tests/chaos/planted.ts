import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbedded } from '@/db/embedded.ts'

const HOLD = 'drizzle/0042_held_under_the_lock.sql'
const HOLD_BATCH = 'drizzle/0020_budget_entries.sql'
const POST = 'drizzle/0024_closed_accounts.sql'
const CLOSE = 'drizzle/0034_refunds_free_budgets.sql'
const HOLD_MANY = 'drizzle/0014_hold_many.sql'

/** A bug as somebody could write it, and the file of tests that must fail for it. */
interface Planted {
  bug: string
  file: string
  find: string
  replace: string
  caughtBy: string
}

/** All that `bun run chaos planted` plants. */
export const PLANTED: readonly Planted[] = [
  {
    bug: 'a hold of one does not ask whether the credit is there (a dropped WHERE)',
    file: HOLD,
    find: 'WHERE w.account_id = p_account AND w.credits - w.debits + w.overdraft - w.pending >= p_amount',
    replace: 'WHERE w.account_id = p_account',
    caughtBy: 'tests/ledger/hold.test.ts',
  },
  {
    bug: 'a hold does not check the status of the key again',
    file: HOLD,
    find: "k.account_id = p_account AND k.status = 'active' AND k.cap_nano IS NULL",
    replace: 'k.account_id = p_account AND k.cap_nano IS NULL',
    caughtBy: 'tests/ledger/hold.test.ts',
  },
  {
    bug: 'a batch of holds does not ask whether the credit is there for all of them',
    file: HOLD_MANY,
    find: 'WHERE w.credits - w.debits + w.overdraft - w.pending >= p.need',
    replace: 'WHERE true',
    caughtBy: 'tests/ledger/hold-many.test.ts',
  },
  {
    bug: 'a batch of holds admits the rest where one of them may not be',
    file: HOLD_MANY,
    find: 'AND (SELECT sum(a.holds) FROM payable a) = cardinality(p_ids)',
    replace: '',
    caughtBy: 'tests/ledger/hold-many.test.ts',
  },
  {
    bug: 'an extension is not counted in the wallet',
    file: HOLD_BATCH,
    find: '    v_needs[r.n] := v_need;',
    replace: '    v_needs[r.n] := CASE WHEN r.extends THEN 0 ELSE v_need END;',
    caughtBy: 'tests/ledger/hold.test.ts',
  },
  {
    bug: 'the budget of a key does not count what was spent',
    file: HOLD_BATCH,
    find: 'k.cap_nano - b.spent - b.pending AS budget, k.cap_nano - b.spent AS unspent',
    replace: 'k.cap_nano - b.pending AS budget, k.cap_nano AS unspent',
    caughtBy: 'tests/ledger/hold.test.ts',
  },
  {
    bug: 'the budget of a key forgets a charge that comes late',
    file: CLOSE,
    find: 'CASE WHEN v_amount < 0 THEN EXISTS (SELECT FROM api_key k WHERE k.id = r.key_id AND k.account_id = r.account_id)',
    replace: 'CASE WHEN v_amount < 0 THEN false',
    caughtBy: 'tests/ledger/model.test.ts',
  },
  {
    bug: 'what is given back of a month that is over frees the budget of another',
    file: CLOSE,
    find: 'WHERE b.key_id = charged.key_id AND charged.first_seq > b.since_seq',
    replace: 'WHERE b.key_id = charged.key_id',
    caughtBy: 'tests/ledger/give-back.test.ts',
  },
  {
    bug: 'a charge that a budget counts is not marked for the audit',
    file: CLOSE,
    find: 'CASE WHEN q.counted THEN q.key_id END',
    replace: "CASE WHEN q.counted AND q.kind = 'usage' THEN q.key_id END",
    caughtBy: 'tests/ledger/audit.test.ts',
  },
  {
    bug: 'wallets are locked in the order of the batch',
    file: HOLD_BATCH,
    find: 'PERFORM FROM wallet w WHERE w.account_id = ANY (p_accounts) ORDER BY w.account_id FOR NO KEY UPDATE;\n  v_capped',
    replace:
      'PERFORM FROM wallet w WHERE w.account_id = ANY (p_accounts) ORDER BY array_position(p_accounts, w.account_id) FOR NO KEY UPDATE;\n  v_capped',
    caughtBy: 'tests/ledger/locks.test.ts',
  },
  {
    bug: 'a late settlement is posted however often it comes (settle twice)',
    file: CLOSE,
    find: "      CONTINUE WHEN EXISTS (SELECT FROM entry e WHERE e.id = r.id AND e.kind = 'usage_trueup');\n",
    replace: '',
    caughtBy: 'tests/ledger/settle.test.ts',
  },
  {
    bug: 'a late settlement is posted in full beside what was charged (adjust twice)',
    file: CLOSE,
    find: 'v_amount := -(r.cost + coalesce(v_charge.amount, 0));',
    replace: 'v_amount := -r.cost;',
    caughtBy: 'tests/ledger/settle.test.ts',
  },
  {
    bug: 'the reaper ignores the checkpoint',
    file: CLOSE,
    find: 'v_amount := -CASE WHEN p_expired THEN r.progress ELSE r.cost END;',
    replace: 'v_amount := -CASE WHEN p_expired THEN 0 ELSE r.cost END;',
    caughtBy: 'tests/ledger/settle.test.ts',
  },
  {
    bug: 'the reaper does not ask again under the lock',
    file: 'drizzle/0013_reap_checked_again.sql',
    find: 'WHERE h.id = ANY (v_ids) AND h.owner <> ledger_job_owner() AND (h.owner = ANY (v_dead) OR h.deadline < clock_timestamp()',
    replace: 'WHERE h.id = ANY (v_ids) AND (true OR h.owner = ANY (v_dead) OR h.deadline < clock_timestamp()',
    caughtBy: 'tests/ledger/locks.test.ts',
  },
  {
    bug: 'refunds of a request have no bound together',
    file: POST,
    find: 'IF v_charged IS NULL OR v_refunded + p_amount > v_charged THEN',
    replace: 'IF v_charged IS NULL OR p_amount > v_charged THEN',
    caughtBy: 'tests/ledger/post.test.ts',
  },
  {
    bug: 'credit that never expires is used first',
    file: 'src/ledger/burn-down.ts',
    find: 'const expiry = expiryMs(one) - expiryMs(other)',
    replace: 'const expiry = expiryMs(other) - expiryMs(one)',
    caughtBy: 'tests/ledger/burn-down.test.ts',
  },
  {
    bug: 'the journal believes a record whose checksum is wrong',
    file: 'src/ledger/spill/journal.ts',
    find: 'end <= buffer.length && crc32c(buffer, start, end) === buffer.readUInt32BE(at + 4)',
    replace: 'end <= buffer.length',
    caughtBy: 'tests/ledger/spill/journal.test.ts',
  },
  {
    bug: 'a failed write stays in the journal, and what follows stands behind it',
    file: 'src/ledger/spill/journal.ts',
    find: 'await file.truncate(size).catch(() => undefined)',
    replace: 'size += 1',
    caughtBy: 'tests/ledger/spill/journal.test.ts',
  },
  {
    bug: 'the writer sends an id twice in one batch',
    file: 'src/ledger/writer.ts',
    find: 'if (entry.done || ids.has(id)) continue',
    replace: 'if (entry.done) continue',
    caughtBy: 'tests/ledger/writer.test.ts',
  },
  {
    bug: 'the cost is rounded down',
    file: 'src/pricing/cost.ts',
    find: 'return (pico + 999n) / 1000n',
    replace: 'return pico / 1000n',
    caughtBy: 'tests/pricing/cost.test.ts',
  },
  {
    bug: 'reasoning is forgotten in the cost',
    file: 'src/pricing/cost.ts',
    find: "  reasoning: 'reasoning',\n",
    replace: '',
    caughtBy: 'tests/pricing/cost.test.ts',
  },
  {
    bug: 'cached tokens are counted as uncached, too',
    file: 'src/formats/openai-chat-completions/answer/usage.ts',
    find: 'const uncached = total - cached.cacheRead - cached.cacheWrite5m',
    replace: 'const uncached = total - cached.cacheWrite5m',
    caughtBy: 'tests/exchange/billing/billing.test.ts',
  },
  {
    bug: 'a usage of zero is taken for a missing one',
    file: 'src/exchange/billing/bill.ts',
    find: 'if (usage !== undefined && meter.finished) return',
    replace: 'if (usage?.outputText && meter.finished) return',
    caughtBy: 'tests/exchange/billing/billing.test.ts',
  },
  {
    bug: 'what an answer counts at its beginning is taken for all of it',
    file: 'src/exchange/billing/meter.ts',
    find: 'this.#isUsageSoFar = event.soFar === true',
    replace: 'this.#isUsageSoFar = false',
    caughtBy: 'tests/exchange/billing/billing.test.ts',
  },
  {
    bug: 'who hangs up in the middle pays nothing',
    file: 'src/exchange/billing/bill.ts',
    find: 'return isPaid ? this.#soFar(meter) : undefined',
    replace: 'return isPaid && meter.finished ? this.#soFar(meter) : undefined',
    caughtBy: 'tests/exchange/billing/billing.test.ts',
  },
  {
    bug: 'an answer is sent before its hold is durable',
    file: 'src/exchange/relay/flow.ts',
    find: '  await reservation.granted\n',
    replace: '',
    caughtBy: 'tests/exchange/early-start.test.ts',
  },
  {
    bug: 'what is generated after the caller left is charged',
    file: 'src/exchange/relay/drain.ts',
    find: 'if (!meter.isConclusive) goBack()',
    replace: '',
    caughtBy: 'tests/exchange/relay/outlet.test.ts',
  },
  {
    bug: 'a charge is noted for the case of a kill only when it is committed',
    file: 'src/ledger/ledger.ts',
    find: 'if (running.note(settlement)) spill?.notes.add(settlement)',
    replace: '',
    caughtBy: 'tests/ledger/spill/notes.test.ts',
  },
  {
    bug: 'the audit takes the tier by the uncached tokens alone',
    file: 'src/ledger/audit-prices.ts',
    find: '(x.input_uncached + x.cache_read + x.cache_write5m + x.cache_write1h + x.audio_input)',
    replace: '(x.input_uncached)',
    caughtBy: 'tests/ledger/receipts.test.ts',
  },
  {
    bug: 'a service tier is charged as it was asked for, and not as it was served',
    file: 'src/exchange/billing/service-tier.ts',
    find: "const tier = said === 'open' ? readServiceTier(upstream?.tier) : said",
    replace: 'const tier = readServiceTier(upstream?.tier)',
    caughtBy: 'tests/exchange/billing/service-tiers.test.ts',
  },
  {
    bug: 'the hold does not reckon with the service tier that the vendor may choose (held too low)',
    file: 'src/exchange/billing/service-tier.ts',
    find: "  open: ['priority', 'flex'],",
    replace: '  open: [],',
    caughtBy: 'tests/exchange/billing/service-tiers.test.ts',
  },
  {
    bug: 'a receipt does not keep the service tier that it was charged by',
    file: 'src/exchange/results/columns.ts',
    find: 'service_tier: charge?.serviceTier,',
    replace: 'service_tier: undefined,',
    caughtBy: 'tests/exchange/billing/service-tiers.test.ts',
  },
  {
    bug: 'the audit does not know of service tiers',
    file: 'src/ledger/audit-prices.ts',
    find: "p.service_tier = coalesce(x.service_tier, '')",
    replace: "p.service_tier = ''",
    caughtBy: 'tests/exchange/billing/service-tiers.test.ts',
  },
  {
    bug: 'a month counts again what it has counted',
    file: 'drizzle/0025_monthly_totals.sql',
    find: 'e.seq > v_known AND ',
    replace: '',
    caughtBy: 'tests/console/api/statements.test.ts',
  },
  {
    bug: 'a refund that failed is given back although the total of a later one no longer has it',
    file: 'src/console/money/payment-returns.ts',
    find: 'const everRefunded = amountNano + failedBy(at)',
    replace: 'const everRefunded = amountNano',
    caughtBy: 'tests/console/money/payments.test.ts',
  },
  {
    bug: 'a price that is to change is in force at once',
    file: 'src/generation/rate-text.ts',
    find: 'all.findLast(({ from }) => from <= now)',
    replace: 'all.at(-1)',
    caughtBy: 'tests/routing/catalog/prices.test.ts',
  },
]

/** `bun run chaos planted [WORD]`: each bug on a copy of the tree; only those whose text contains the word, if given. */
export async function run(args: readonly string[]): Promise<boolean> {
  const chosen = PLANTED.filter(({ bug }) => bug.includes(args[0] ?? ''))
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-planted-'))
  const tree = join(directory, 'tree')
  const postgres = await openEmbedded({ dataDir: join(directory, 'data'), role: 'command' })
  try {
    copyTree(tree)
    let caught = 0
    for (const file of new Set(chosen.map(({ caughtBy }) => caughtBy))) {
      const failed = await firstFailure(tree, file, postgres.url)
      if (failed !== undefined) throw new Error(`${file} fails without any planted bug: ${failed}`)
    }
    for (const planted of chosen) {
      const test = await plant(tree, planted, postgres.url)
      if (test !== undefined) caught += 1
      console.log(`${test === undefined ? 'MISSED' : 'caught'}  ${planted.bug}`)
      console.log(`        ${planted.caughtBy}: ${test ?? 'every test passes'}`)
    }
    console.log(`planted: ${caught} of ${chosen.length} bugs are caught, ${caught}/${chosen.length}`)
    return caught === chosen.length
  } finally {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

const ROOT = join(import.meta.dir, '../..')

function copyTree(tree: string): void {
  for (const name of ['src', 'tests', 'drizzle', 'package.json', 'tsconfig.json', 'bunfig.toml']) {
    cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
}

/** The name of the test that fails with the bug in place. */
async function plant(
  tree: string,
  { file, find, replace, caughtBy }: Planted,
  url: string,
): Promise<string | undefined> {
  const path = join(tree, file)
  const right = readFileSync(path, 'utf8')
  if (right.split(find).length < 2) throw new Error(`${file} has no longer: ${find}`)
  writeFileSync(path, right.replaceAll(find, replace))
  try {
    return await firstFailure(tree, caughtBy, url)
  } finally {
    writeFileSync(path, right)
  }
}

/** Undefined: all pass. A file that cannot even be loaded catches nothing: a bug must be one that runs. */
async function firstFailure(tree: string, file: string, databaseUrl: string): Promise<string | undefined> {
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '30000', '--bail', file], {
    cwd: tree,
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const text = await child.stderr.text()
  if ((await child.exited) === 0) return undefined
  const name = /^\(fail\) (?!\(unnamed\))(.*?)(?: \[[\d.]+ms\])?$/m.exec(text)?.[1]
  if (name === undefined) throw new Error(`${file} does not run: ${text.slice(-2_000)}`)
  return name
}
