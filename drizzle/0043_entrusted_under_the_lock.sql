-- Hands a hold to the job that its exchange began, in the transaction that stores the job. One that is gone, since its
-- process was taken for dead, is set aside anew, whatever the account has by now: the job runs, and will be charged.
-- False: there is nothing to hand over, since the exchange was charged already, or p_amount is not said, as by
-- processes of before. The wallet is locked first: a reaper that has begun to end the hold would end it all the same.
CREATE OR REPLACE FUNCTION ledger_entrust(
  p_id uuid, p_account bigint, p_deadline timestamptz, p_key bigint DEFAULT NULL, p_amount bigint DEFAULT NULL,
  p_version bigint DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_counted boolean;
BEGIN
  PERFORM FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE hold h SET owner = ledger_job_owner(), deadline = p_deadline WHERE h.id = p_id AND h.account_id = p_account;
  IF FOUND THEN
    RETURN true;
  END IF;
  IF p_amount IS NULL
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
-- What 0002 set for it, which a function that is made anew lacks.
DO $$
DECLARE
  v_function regprocedure := 'ledger_entrust(uuid, bigint, timestamptz, bigint, bigint, bigint)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
  EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
END
$$;
