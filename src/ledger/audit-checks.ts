import definitions from '@/db/definitions.json'
import { DEFINITIONS } from '@/db/definitions.ts'
import { PRICED } from './audit-prices.ts'
import { FIRST_ID } from './audit-tables.ts'
import { OF_ANOTHER_ACCOUNT } from './store.ts'

/**
 * One question to the ledger. Its query gives a row for whatever breaks the rule: `account_id` (or null), `text` for
 * people, `difference` in nano units (or null). It may read the temporary tables
 * `audited`, `fresh` and `summed`.
 */
export interface Check {
  name: string
  /** What holds if there is no row. */
  title: string
  /** `account`: in every mode. `ledger`: about more than the accounts asked for, so in the full mode only. */
  about: 'account' | 'ledger'
  /** A row means that wallet and entries of the account do not agree. */
  breaksAccount?: boolean
  /** Rows are worth knowing, and lawful. */
  informational?: boolean
  query: string
}

/** What an entry refers to, as an id; null where it is none: an audit tells what is broken, whatever is. */
function refersTo(ref: string): string {
  return `case when ${ref} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then ${ref}::uuid end`
}

/** An amount in nano as people read it. */
function money(nano: string): string {
  return `(${nano}) * 0.000000001`
}

/** One in pico; a product of numeric is exact. */
function exactMoney(pico: string): string {
  return `(${pico}) * 0.000000000001`
}

/** What is said of `r`, a refused settlement. */
const REFUSED_TEXT = `format('request %s of account %s: a charge of %s is refused since %s: %s',
  r.id, r.account_id, ${money('r.cost_nano')}, to_char(r.refused_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), r.reason)`

/** What the exact cost of an exchange `x` comes to in nano: a quotient of numeric has some 16 digits, div() is exact. */
const ROUNDED_UP = 'div(x.cost_pico + 999, 1000)'

/** What the entries `u` and `t` of an exchange say that it cost exactly; a checkpoint knows that in nano only. */
const CHARGED_PICO = `coalesce(t.cost_pico, case when u.ref is distinct from 'expired' then u.cost_pico end)`

/** Everything that an audit checks, in the order of its report. */
export const CHECKS: readonly Check[] = [
  {
    name: 'wallet_sums',
    title: 'what a wallet says was put in and taken out is the sum of its entries',
    about: 'account',
    breaksAccount: true,
    query: `
      select a.account_id, abs(a.credits - a.known_credits - coalesce(s.credits, 0))
          + abs(a.debits - a.known_debits - coalesce(s.debits, 0)) as difference,
        format('account %s: credits %s, entries %s; debits %s, entries %s', a.account_id, ${money('a.credits')},
          ${money('a.known_credits + coalesce(s.credits, 0)')}, ${money('a.debits')}, ${money('a.known_debits + coalesce(s.debits, 0)')}) as text
      from audited a left join summed s on s.account_id = a.account_id
      where a.credits <> a.known_credits + coalesce(s.credits, 0) or a.debits <> a.known_debits + coalesce(s.debits, 0)`,
  },
  {
    name: 'sequence',
    title: 'the entries of an account are numbered without gaps, up to the number in its wallet',
    about: 'account',
    breaksAccount: true,
    query: `
      select a.account_id, null::numeric as difference,
        format('account %s: %s entries since %s, the last is %s, the wallet says %s', a.account_id,
          coalesce(s.entries, 0), a.known_seq, coalesce(s.last_seq, a.known_seq), a.seq) as text
      from audited a left join summed s on s.account_id = a.account_id
      where a.seq <> a.known_seq + coalesce(s.entries, 0) or a.seq <> coalesce(s.last_seq, a.known_seq) or s.gaps > 0`,
  },
  {
    name: 'chain',
    title: 'each balance is the one before it plus the amount',
    about: 'account',
    breaksAccount: true,
    query: `
      select s.account_id, s.broken_by as difference,
        format('account %s: %s broken links, the first at entry %s', s.account_id, s.breaks, s.first_break) as text
      from summed s where s.breaks > 0`,
  },
  {
    name: 'grants',
    title: 'every amount that was put in has its terms',
    about: 'account',
    query: `
      select a.account_id, abs(a.credits - coalesce(g.amount, 0)) as difference,
        format('account %s: credits %s, grants %s', a.account_id, ${money('a.credits')}, ${money('coalesce(g.amount, 0)')}) as text
      from audited a left join (select account_id, sum(amount) as amount from ledger_grant group by account_id) g
        on g.account_id = a.account_id
      where a.credits <> coalesce(g.amount, 0)
      union all
      select a.account_id, abs(g.amount - coalesce(e.amount, 0)), format('%s %s of account %s: %s, its grant %s of account %s',
        g.entry_kind, g.entry_id, e.account_id, ${money('e.amount')}, ${money('g.amount')}, g.account_id)
      from audited a join ledger_grant g on g.account_id = a.account_id
      left join entry e on e.id = g.entry_id and e.kind = g.entry_kind
      where g.entry_id >= ${FIRST_ID} and (e.amount, e.account_id) is distinct from (g.amount, g.account_id)`,
  },
  {
    name: 'expiries',
    title: 'what is taken because its time is over is of credit with an end, and no more than that was',
    about: 'account',
    query: `
      select e.account_id, -sum(e.amount) - coalesce(max(g.amount), 0) as difference,
        format('credit %s of account %s: gave %s until %s, taken of it %s', e.ref, e.account_id, ${money('coalesce(max(g.amount), 0)')},
          coalesce(max(g.expires_at)::text, 'ever'), ${money('-sum(e.amount)')}) as text
      from fresh e left join ledger_grant g on g.entry_id = ${refersTo('e.ref')} and g.account_id = e.account_id
      where e.kind = 'expiry' group by e.account_id, e.ref
      having max(g.expires_at) is null or -sum(e.amount) > max(g.amount)
      union all
      select g.account_id, g.amount, format('credit %s of account %s: over since %s, its end is %s', g.entry_id, g.account_id,
        g.closed_at, coalesce(g.expires_at::text, 'never'))
      from audited a join ledger_grant g on g.account_id = a.account_id
      where g.closed_at < coalesce(g.expires_at, 'infinity') - interval '1 second'`,
  },
  {
    name: 'pending',
    title: 'what wallets and key budgets have set aside is the sum of the open holds',
    about: 'account',
    query: `
      select a.account_id, abs(a.pending - coalesce(h.amount, 0)) as difference,
        format('account %s: pending %s, holds %s', a.account_id, ${money('a.pending')}, ${money('coalesce(h.amount, 0)')}) as text
      from audited a left join (select account_id, sum(amount) as amount from hold group by account_id) h
        on h.account_id = a.account_id
      where a.pending <> coalesce(h.amount, 0)
      union all
      select k.account_id, abs(coalesce(b.pending, 0) - coalesce(h.amount, 0)),
        format('key %s: pending %s, holds %s', k.id, ${money('coalesce(b.pending, 0)')}, ${money('coalesce(h.amount, 0)')})
      from api_key k join audited a on a.account_id = k.account_id left join key_budget b on b.key_id = k.id
      left join (select key_id, sum(amount) as amount from hold where budgeted group by key_id) h on h.key_id = k.id
      where coalesce(b.pending, 0) <> coalesce(h.amount, 0)`,
  },
  {
    name: 'key_budgets',
    title: 'what a key with a cap has spent is the sum of the charges that count for it',
    about: 'account',
    query: `
      select k.account_id, abs(b.spent - b.unexplained - coalesce(e.cost, 0)) as difference,
        format('key %s: spent %s, charged %s', b.key_id, ${money('b.spent')}, ${money('b.unexplained + coalesce(e.cost, 0)')}) as text
      from key_budget b join api_key k on k.id = b.key_id join audited a on a.account_id = k.account_id
      left join lateral (select -sum(e.amount) as cost from entry e
        where e.budget_key_id = b.key_id and e.seq > b.since_seq) e on true
      where b.spent <> b.unexplained + coalesce(e.cost, 0)
      union all
      select k.account_id, null, format('key %s: charges count in its cap, and what it has spent is not there', k.id)
      from api_key k join audited a on a.account_id = k.account_id
      where k.cap_nano is not null and not exists (select from key_budget b where b.key_id = k.id)
        -- A correction counts in whatever cap there may be.
        and exists (select from entry e where e.budget_key_id = k.id and e.kind = 'usage')
      union all
      select k.account_id, null, format('key %s: the %s in which it has spent begins at %s', k.id, b.period, b.period_start)
      from key_budget b join api_key k on k.id = b.key_id join audited a on a.account_id = k.account_id
      where b.period_start > clock_timestamp() or b.period_start <> ledger_period_start(b.period, b.period_start)`,
  },
  {
    name: 'orphan_holds',
    title: 'every hold has a process or a job that answers for it, or is less than a minute without one',
    about: 'account',
    query: `
      select h.account_id, h.amount as difference, format('hold %s of account %s: %s', h.id, h.account_id,
        case when h.deadline < now() - interval '1 minute' then 'its deadline was ' || h.deadline
          when h.owner = ledger_job_owner() then 'no job answers for it'
          else 'process ' || h.owner || ' is dead' end) as text
      from hold h join audited a on a.account_id = h.account_id left join process p on p.id = h.owner
      where h.deadline < now() - interval '1 minute'
        or (h.opened_at < now() - interval '1 minute' and case when h.owner = ledger_job_owner()
          then not exists (select from video_job j where j.id = h.id and j.account_id = h.account_id and j.money = 'held')
          else coalesce(p.seen, '-infinity') < now() - interval '1 minute' end)`,
  },
  {
    name: 'job_holds',
    title: 'every job whose money is set aside has its hold',
    about: 'account',
    // Who looks at a job may be about to close it.
    query: `
      select j.account_id, null::numeric as difference,
        format('video %s of account %s: nothing is set aside for it', j.id, j.account_id) as text
      from video_job j join audited a on a.account_id = j.account_id
      where j.money = 'held' and coalesce(j.leased_until, j.created_at) < now() - interval '2 seconds'
        and not exists (select from hold h where h.id = j.id and h.account_id = j.account_id and h.owner = ledger_job_owner())`,
  },
  {
    name: 'refused_settlements',
    title: 'every charge could be posted',
    about: 'account',
    query: `
      select r.account_id, r.cost_nano as difference, ${REFUSED_TEXT} as text
      from refused_settlement r join audited a on a.account_id = r.account_id`,
  },
  {
    name: 'redemptions',
    title: 'each use of a redeem code gave its account what the code is worth',
    about: 'account',
    query: `
      select a.account_id, c.amount as difference, format('account %s: used code %s, worth %s, and got %s', a.account_id,
        left(encode(d.code_hash, 'hex'), 16), ${money('c.amount')}, ${money('coalesce(e.amount, 0)')}) as text
      from audited a join redemption d on d.account_id = a.account_id join redeem_code c on c.code_hash = d.code_hash
      left join entry e on e.id = d.entry_id and e.kind = 'promo' and e.account_id = a.account_id
      where e.amount is distinct from c.amount
      union all
      select e.account_id, e.amount, format('account %s: got %s for %s, which it has not used', e.account_id, ${money('e.amount')}, e.ref)
      from fresh e left join redemption d on d.entry_id = e.id and d.account_id = e.account_id
      where e.kind = 'promo' and e.ref like 'redeem code %' and d.entry_id is null`,
  },
  {
    name: 'usage_once',
    title: 'a request is charged once, corrected once and only if it was charged without its owner',
    about: 'account',
    query: `
      select e.account_id, abs(sum(e.amount)) as difference, format('request %s: %s entries of %s', e.id, count(*), e.kind) as text
      from fresh e where e.kind in ('usage', 'usage_trueup') group by e.id, e.kind, e.account_id having count(*) > 1
      union all
      select t.account_id, abs(t.amount), format('request %s: corrected after it was settled', t.id)
      from fresh t join entry u on u.id = t.id and u.kind = 'usage'
      where t.kind = 'usage_trueup' and u.ref is distinct from 'expired'`,
  },
  {
    name: 'usage_refunds',
    title: 'no more of a request is refunded than it was charged',
    about: 'account',
    query: `
      select r.account_id, r.refunded - coalesce(c.charged, 0) as difference,
        format('request %s: charged %s, refunded %s', r.ref, ${money('coalesce(c.charged, 0)')}, ${money('r.refunded')}) as text
      from (select e.ref, e.account_id, sum(e.amount) as refunded from entry e join audited a on a.account_id = e.account_id
        where e.kind = 'usage_refund' group by e.ref, e.account_id) r
      left join lateral (select -sum(u.amount) as charged from entry u
        where u.id = ${refersTo('r.ref')} and u.kind in ('usage', 'usage_trueup') and u.account_id = r.account_id) c on true
      where r.refunded > coalesce(c.charged, 0)`,
  },
  {
    name: 'exchanges',
    title: 'what an exchange cost by its receipt is what its account was charged',
    about: 'account',
    query: `
      select x.account_id,
        case when u.account_id <> x.account_id or t.account_id <> x.account_id then abs(coalesce(u.amount, t.amount))
          when x.cost_nano is distinct from ${ROUNDED_UP} then abs(x.cost_nano - ${ROUNDED_UP})
          else abs(coalesce(x.cost_nano, 0) + coalesce(u.amount, 0) + coalesce(t.amount, 0)) end as difference,
        case when u.account_id <> x.account_id or t.account_id <> x.account_id
            then format('request %s: made by account %s, charged to account %s', x.id, x.account_id,
              coalesce(nullif(u.account_id, x.account_id), t.account_id))
          when x.cost_nano is distinct from ${ROUNDED_UP}
            then format('request %s: exactly %s, rounded to %s', x.id, ${exactMoney('x.cost_pico')}, ${money('x.cost_nano')})
          when x.cost_nano = -coalesce(u.amount, 0) - coalesce(t.amount, 0)
            then format('request %s: exactly %s, its entry says %s', x.id, ${exactMoney('x.cost_pico')}, ${exactMoney(CHARGED_PICO)})
          else format('request %s: cost %s, charged %s', x.id, ${money('coalesce(x.cost_nano, 0)')},
            ${money('-coalesce(u.amount, 0) - coalesce(t.amount, 0)')}) end as text
      from exchange x join audited a on a.account_id = x.account_id
      left join entry u on u.id = x.id and u.kind = 'usage' and u.id >= ${FIRST_ID}
      left join entry t on t.id = x.id and t.kind = 'usage_trueup' and t.id >= ${FIRST_ID}
      where x.id >= ${FIRST_ID} and (u.account_id <> x.account_id or t.account_id <> x.account_id
        or x.cost_nano is distinct from ${ROUNDED_UP} or x.cost_pico <> ${CHARGED_PICO}
        or (x.cost_nano <> -coalesce(u.amount, 0) - coalesce(t.amount, 0)
          and x.started_at + x.total_ms * interval '1 ms' < now() - interval '1 minute'
          and not exists (select from hold h where h.id = x.id) and not ${OF_ANOTHER_ACCOUNT})
        -- The result of a job is completed after it was charged.
        or (x.cost_nano is null and coalesce(u.amount, 0) + coalesce(t.amount, 0) <> 0
          and greatest(u.created_at, t.created_at) < now() - interval '1 minute'))`,
  },
  {
    name: 'receipts',
    title: 'what an exchange cost is what it used times the prices that it names',
    about: 'account',
    query: `
      ${PRICED}
      select account_id, div(abs(cost_pico - coalesce(due_pico, 0)) + 999, 1000) as difference,
        case when due_pico is null then format('request %s: there is no price version %s%s', id, price_version, ' of ' || service_tier)
          else format('request %s: cost %s, by price version %s it is %s', id, ${exactMoney('cost_pico')}, price_version, ${exactMoney('due_pico')}) end as text
      from priced where cost_pico is distinct from due_pico`,
  },
  {
    name: 'house',
    title: 'wallets and house accounts add up to nothing, and every entry and every charge has a wallet',
    about: 'ledger',
    query: `
      select null::bigint as account_id, abs(w.balance - e.balance) as difference,
        format('wallets hold %s, the house owes %s', ${money('w.balance')}, ${money('e.balance')}) as text
      from (select coalesce(sum(credits - debits), 0) as balance from wallet) w,
        (select coalesce(sum(amount), 0) as balance from entry) e
      where w.balance <> e.balance
      union all
      select e.account_id, abs(sum(e.amount)), format('account %s: %s entries and no wallet', e.account_id, count(*))
      from entry e where not exists (select from wallet w where w.account_id = e.account_id) group by e.account_id
      union all
      select r.account_id, r.cost_nano, ${REFUSED_TEXT}
      from refused_settlement r where not exists (select from wallet w where w.account_id = r.account_id)`,
  },
  {
    name: 'redeem_codes',
    title: 'redeem codes count their uses',
    about: 'ledger',
    query: `
      select null::bigint as account_id, abs(c.uses - coalesce(d.uses, 0)) * c.amount as difference,
        format('code %s: %s uses, %s are known', left(encode(c.code_hash, 'hex'), 16), c.uses, coalesce(d.uses, 0)) as text
      from redeem_code c left join (select code_hash, count(*) as uses from redemption group by code_hash) d
        on d.code_hash = c.code_hash
      where c.uses <> coalesce(d.uses, 0)`,
  },
  {
    name: 'postings',
    title: 'what was posted once under an id from outside has its entry',
    about: 'ledger',
    query: `
      select null::bigint as account_id, null::numeric as difference, format('%s %s: there is no entry %s', i.scope, i.key, i.id) as text
      from idempotency i where not exists (select from entry e where e.id = i.id)`,
  },
  {
    name: 'daily_totals',
    title: 'the sums of the days that are over are what they were',
    about: 'ledger',
    query: `
      select null::bigint as account_id, abs(coalesce(d.amount, 0) - coalesce(e.amount, 0)) as difference,
        format('%s %s: %s entries of %s, now %s of %s', coalesce(d.day, e.day), coalesce(d.kind, e.kind),
          coalesce(d.entries, 0), ${money('coalesce(d.amount, 0)')}, coalesce(e.entries, 0), ${money('coalesce(e.amount, 0)')}) as text
      from daily_total d full join (
        select (created_at at time zone 'UTC')::date as day, kind, count(*) as entries, sum(amount) as amount from entry
        where created_at < ((select max(day) from daily_total) + 1)::timestamp at time zone 'UTC' group by 1, 2) e
        on e.day = d.day and e.kind = d.kind
      where (d.entries, d.amount) is distinct from (e.entries, e.amount)`,
  },
  {
    name: 'monthly_totals',
    title: 'the sums of months are those of the entries that they count',
    about: 'ledger',
    query: `
      select coalesce(m.account_id, e.account_id) as account_id,
        abs(coalesce(m.credits, 0) - coalesce(e.credits, 0)) + abs(coalesce(m.debits, 0) - coalesce(e.debits, 0)) as difference,
        format('account %s, %s: %s entries of %s and -%s, now %s of %s and -%s', coalesce(m.account_id, e.account_id),
          to_char(coalesce(m.month, e.month), 'YYYY-MM'), coalesce(m.entries, 0), ${money('coalesce(m.credits, 0)')}, ${money('coalesce(m.debits, 0)')},
          coalesce(e.entries, 0), ${money('coalesce(e.credits, 0)')}, ${money('coalesce(e.debits, 0)')}) as text
      from monthly_total m full join (
        select e.account_id, date_trunc('month', e.created_at at time zone 'UTC')::date as month, count(*) as entries,
          coalesce(sum(e.amount) filter (where e.amount > 0), 0) as credits,
          coalesce(-sum(e.amount) filter (where e.amount < 0), 0) as debits
        from entry e join (select account_id, max(last_seq) as last_seq from monthly_total group by account_id) known
          on known.account_id = e.account_id and e.seq <= known.last_seq group by 1, 2) e
        on e.account_id = m.account_id and e.month = m.month
      where (m.entries, m.credits, m.debits) is distinct from (e.entries, e.credits, e.debits)`,
  },
  {
    name: 'usage_totals',
    title: 'what was used in each quarter of an hour is the sum of the exchanges that it counts',
    about: 'ledger',
    // Of exchanges that were deleted there are sums of nothing.
    query: `
      select coalesce(t.account_id, e.account_id) as account_id, abs(coalesce(t.cost_nano, 0) - coalesce(e.cost_nano, 0)) as difference,
        format('account %s, key %s, model %s, channel %s, tier %s, %s: %s requests of %s, now %s of %s',
          coalesce(t.account_id, e.account_id), coalesce(t.key_id, e.key_id), coalesce(t.model, e.model),
          coalesce(t.channel, e.channel), coalesce(t.service_tier, e.service_tier), coalesce(t.at, e.at), coalesce(t.requests, 0),
          ${money('coalesce(t.cost_nano, 0)')}, coalesce(e.requests, 0), ${money('coalesce(e.cost_nano, 0)')}) as text
      from (select * from usage_total where (requests, failed, cost_nano, input, cached, output) <> (0, 0, 0, 0, 0, 0)) t
      full join (
        select u.account_id, u.at, u.key_id, u.model, u.channel, u.service_tier, count(*) as requests, sum(u.failed) as failed,
          sum(u.cost_nano) as cost_nano, sum(u.input) as input, sum(u.cached) as cached, sum(u.output) as output
        from exchange x cross join lateral usage_of(x) u
        where x.stored_at < (select stored_before from usage_progress) group by 1, 2, 3, 4, 5, 6) e
        on (t.account_id, t.at, t.key_id, t.model, t.channel, t.service_tier)
          = (e.account_id, e.at, e.key_id, e.model, e.channel, e.service_tier)
      where (t.requests, t.failed, t.cost_nano, t.input, t.cached, t.output)
        is distinct from (e.requests, e.failed, e.cost_nano, e.input, e.cached, e.output)`,
  },
  {
    name: 'negative_wallets',
    title: 'accounts below zero, and since when',
    about: 'account',
    informational: true,
    query: `
      select a.account_id, a.debits - a.credits as difference, format('account %s: %s since entry %s of %s, for %s',
        a.account_id, ${money('a.credits - a.debits')}, f.seq, f.created_at, f.kind) as text
      from audited a left join lateral (select e.seq, e.created_at, e.kind from entry e where e.account_id = a.account_id
        and e.seq > coalesce((select max(p.seq) from entry p where p.account_id = a.account_id and p.balance_after >= 0), 0)
        order by e.seq limit 1) f on true
      where a.credits < a.debits`,
  },
  {
    name: 'schema',
    title:
      'partitions are there, and columns, constraints, triggers and functions are in force as the migrations made them',
    about: 'ledger',
    query: `
      select null::bigint as account_id, null::numeric as difference,
        format('entry_default holds %s entries that belong to no month', count(*)) as text from entry_default having count(*) > 0
      union all
      select null, null, format('there is no partition for %s', to_char(month, 'YYYY-MM'))
      from generate_series(date_trunc('month', now() at time zone 'UTC'), now() at time zone 'UTC' + interval '1 month', '1 month') month
      where to_regclass('entry_' || to_char(month, 'YYYY_MM')) is null
      union all
      (with made as (${DEFINITIONS}),
        wanted as (select key as what, value as digest from jsonb_each_text('${JSON.stringify(definitions)}'))
      select null, null, format('%s is missing, switched off or not as the migrations made it', wanted.what) from wanted
      where (wanted.what, wanted.digest) not in (select what, digest from made)
        -- A newer program may have migrated the database while this one still serves.
        and exists (select from wanted join made using (what, digest) where what = 'newest migration'))
      union all
      select null, null, format('trigger %s of %s is missing, switched off or not that of entry', t.tgname, i.inhrelid::regclass)
      from pg_inherits i join pg_trigger t on t.tgrelid = i.inhparent
      where i.inhparent = 'entry'::regclass and not t.tgisinternal and not exists (select from pg_trigger own
        where own.tgrelid = i.inhrelid and own.tgname = t.tgname and own.tgenabled in ('O', 'A')
          and replace(pg_get_triggerdef(own.oid), i.inhrelid::regclass::text, 'entry') = pg_get_triggerdef(t.oid))`,
  },
]
