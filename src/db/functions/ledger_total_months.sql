-- Counts the next entries of an account, at most p_limit of them, into the totals of their months; returns how many
-- these were. Numbers of entries are given out under the lock of the wallet, so whoever sees one sees all before it.
CREATE OR REPLACE FUNCTION public.ledger_total_months(p_account bigint, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_known bigint;
  v_added integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('monthly_total', p_account));
  SELECT coalesce(max(m.last_seq), 0) INTO v_known FROM monthly_total m WHERE m.account_id = p_account;
  WITH added AS (
    SELECT date_trunc('month', e.created_at AT TIME ZONE 'UTC')::date AS month, count(*) AS entries,
      coalesce(sum(e.amount) FILTER (WHERE e.amount > 0), 0) AS credits,
      coalesce(-sum(e.amount) FILTER (WHERE e.amount < 0), 0) AS debits, min(e.seq) AS first_seq, max(e.seq) AS last_seq
    FROM entry e WHERE e.account_id = p_account AND e.seq > v_known AND e.seq <= v_known + p_limit GROUP BY 1
  ), counted AS (
    INSERT INTO monthly_total AS t (account_id, month, entries, credits, debits, first_seq, last_seq)
      SELECT p_account, a.month, a.entries, a.credits, a.debits, a.first_seq, a.last_seq FROM added a
      ON CONFLICT (account_id, month) DO UPDATE SET entries = t.entries + excluded.entries,
        credits = t.credits + excluded.credits, debits = t.debits + excluded.debits,
        first_seq = least(t.first_seq, excluded.first_seq), last_seq = greatest(t.last_seq, excluded.last_seq)
  )
  SELECT coalesce(sum(a.entries), 0) INTO v_added FROM added a;
  RETURN v_added;
END
$function$;
