CREATE TABLE "monthly_total" (
	"account_id" bigint NOT NULL,
	"month" date NOT NULL,
	"entries" bigint NOT NULL,
	"credits" bigint NOT NULL,
	"debits" bigint NOT NULL,
	"first_seq" bigint NOT NULL,
	"last_seq" bigint NOT NULL,
	CONSTRAINT "monthly_total_account_id_month_pk" PRIMARY KEY("account_id","month")
);

--> statement-breakpoint
-- Counts the next entries of an account, at most p_limit of them, into the totals of their months; returns how many these
-- were. Numbers of entries are given out under the lock of the wallet, so whoever sees one sees all before it.
CREATE FUNCTION ledger_total_months(p_account bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
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
$$;
--> statement-breakpoint
-- What 0002 set for all of them.
DO $$
DECLARE
  v_function regprocedure := 'ledger_total_months(bigint, integer)'::regprocedure;
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
  EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
  EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
END
$$;
