/**
 * From which id on checks look at single rows: all, or what came after the last audit and on the day before it, since a
 * row may be stored long after its id was made. A setting of the transaction, so that the planner knows its value, and
 * what is asked every few minutes reads a range of an index and not years.
 */
export function setFirstId(sinceCheckpoint: boolean): string {
  return `
    select set_config('ledger.audited_from', ledger_first_id(coalesce(
      (select max(audited_at) - interval '1 day' from audit_checkpoint where ${sinceCheckpoint}), to_timestamp(0)))::text, true)`
}

/** That id, as a value in SQL. */
export const FIRST_ID = "current_setting('ledger.audited_from')::uuid"

/**
 * The wallets in question, with what an earlier audit knew of each. A statement that creates a table takes no
 * parameters; both values are ours.
 */
export function selectAudited(sinceCheckpoint: boolean, accountId: number | undefined): string {
  return `
    create temporary table audited on commit drop as
      select w.account_id, w.credits, w.debits, w.pending, w.seq,
        coalesce(c.seq, 0) as known_seq, coalesce(c.credits, 0) as known_credits, coalesce(c.debits, 0) as known_debits
      from wallet w left join audit_checkpoint c on c.account_id = w.account_id and ${sinceCheckpoint}
      ${accountId === undefined ? '' : `where w.account_id = ${Math.trunc(accountId)}`}`
}

/**
 * The entries of those wallets that no earlier audit knew. Since a checkpoint those that wallets count, by the index of
 * each account that has some, and those that no wallet counts, by their ids; else all there are, which are not copied.
 */
export function selectFresh(sinceCheckpoint: boolean): string {
  if (!sinceCheckpoint) {
    return `
      create temporary view fresh as
        select e.* from entry e join audited a on a.account_id = e.account_id where e.seq > a.known_seq`
  }
  return `
    create temporary table fresh on commit drop as
      select e.* from audited a cross join lateral (
        select e.* from entry e where e.account_id = a.account_id and e.seq > a.known_seq offset 0) e
      where a.seq <> a.known_seq
      union all
      select e.* from entry e join audited a on a.account_id = e.account_id
      where e.id >= ${FIRST_ID} and e.seq > a.known_seq and a.seq = a.known_seq`
}

/** What the entries of each wallet say, from where the earlier audit ended. */
export const SELECT_SUMMED = `
  create temporary table summed on commit drop as
    select account_id, count(*) as entries, max(seq) as last_seq,
      coalesce(sum(amount) filter (where amount > 0), 0) as credits,
      coalesce(-sum(amount) filter (where amount < 0), 0) as debits,
      count(*) filter (where seq <> due_seq) as gaps,
      count(*) filter (where balance_after <> balance_before + amount) as breaks,
      min(seq) filter (where balance_after <> balance_before + amount) as first_break,
      sum(abs(balance_after - balance_before - amount)) as broken_by
    from (
      select e.account_id, e.seq, e.amount, e.balance_after, a.known_seq + row_number() over earlier as due_seq,
        coalesce(lag(e.balance_after) over earlier, a.known_credits - a.known_debits) as balance_before
      from fresh e join audited a on a.account_id = e.account_id
      window earlier as (partition by e.account_id order by e.seq)) e
    group by account_id`
