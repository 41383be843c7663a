-- Hands a hold to the job that its exchange began, in the transaction that stores the job. One that is gone, since its
-- process was taken for dead, is set aside anew, whatever the account has by now: the job runs, and will be charged. False:
-- there is nothing to hand over, since the exchange was charged already, or p_amount is not said, as by processes of before.
DROP FUNCTION ledger_entrust(uuid, bigint, timestamptz);
--> statement-breakpoint
CREATE FUNCTION ledger_entrust(
  p_id uuid, p_account bigint, p_deadline timestamptz, p_key bigint DEFAULT NULL, p_amount bigint DEFAULT NULL,
  p_version bigint DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_counted boolean;
BEGIN
  UPDATE hold h SET owner = ledger_job_owner(), deadline = p_deadline WHERE h.id = p_id AND h.account_id = p_account;
  IF FOUND THEN
    RETURN true;
  END IF;
  PERFORM FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND OR p_amount IS NULL
      OR EXISTS (SELECT FROM entry e WHERE e.id = p_id AND e.kind IN ('usage', 'usage_trueup')) THEN
    RETURN false;
  END IF;
  UPDATE key_budget b SET pending = b.pending + p_amount FROM api_key k
    WHERE b.key_id = p_key AND k.id = b.key_id AND k.cap_nano IS NOT NULL;
  v_counted := FOUND;
  UPDATE wallet w SET pending = w.pending + p_amount WHERE w.account_id = p_account;
  INSERT INTO hold (id, account_id, key_id, owner, amount, price_version, budgeted, deadline)
    VALUES (p_id, p_account, p_key, ledger_job_owner(), p_amount, p_version, v_counted, p_deadline);
  RETURN true;
END
$$;
--> statement-breakpoint
-- Brings budgets whose period is still to come, since the clock was set back, to the one that runs. What they have spent
-- stays spent. Else they would begin no new one before that period is over.
CREATE FUNCTION ledger_return_budgets() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_returned integer;
BEGIN
  WITH ahead AS (
    SELECT b.key_id FROM key_budget b WHERE b.period_start > now() ORDER BY b.key_id FOR NO KEY UPDATE
  )
  UPDATE key_budget b SET period_start = ledger_period_start(b.period, now()) FROM ahead a
    WHERE b.key_id = a.key_id AND b.period_start > now();
  GET DIAGNOSTICS v_returned = ROW_COUNT;
  RETURN v_returned;
END
$$;
--> statement-breakpoint
-- What 0002 set for all of them, which a function that is made anew lacks.
DO $$
DECLARE
  v_function regprocedure;
BEGIN
  FOREACH v_function IN ARRAY ARRAY[
    'ledger_entrust(uuid, bigint, timestamptz, bigint, bigint, bigint)', 'ledger_return_budgets()']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
  END LOOP;
END
$$;
