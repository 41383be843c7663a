-- A batch of one, as plain statements for the common case: nothing is open under this id, the key has no cap, the credit
-- is there. Everything else goes to ledger_hold_batch, which also knows why. The wallet is locked by a statement of its
-- own, so that the next one sees what was held and charged while this waited: the same hold, told on a connection that was
-- lost, may come to its turn after its exchange has ended.
CREATE OR REPLACE FUNCTION public.ledger_hold(p_owner uuid, p_id uuid, p_account bigint, p_key bigint, p_amount bigint, p_version bigint, p_lifetime bigint)
 RETURNS TABLE(hold_id uuid, result text, available bigint, key_available bigint, resets_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  PERFORM FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE;
  RETURN QUERY
    WITH reserved AS (
      UPDATE wallet w SET pending = w.pending + p_amount
        FROM account a, api_key k
        WHERE w.account_id = p_account AND w.credits - w.debits + w.overdraft - w.pending >= p_amount
          AND a.id = p_account AND a.status = 'active'
          AND k.id = p_key AND k.account_id = p_account AND k.status = 'active' AND k.cap_nano IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > now()) AND p_lifetime IS NOT NULL
          AND EXISTS (SELECT FROM process p WHERE p.id = p_owner)
          AND NOT EXISTS (SELECT FROM hold h WHERE h.id = p_id)
          AND NOT EXISTS (SELECT FROM entry e WHERE e.id = p_id AND e.kind IN ('usage', 'usage_trueup'))
        RETURNING w.credits - w.debits + w.overdraft - w.pending AS free
    ), opened AS (
      INSERT INTO hold (id, account_id, key_id, owner, amount, price_version, budgeted, deadline)
        SELECT p_id, p_account, p_key, p_owner, p_amount, p_version, false,
          now() + p_lifetime * interval '1 millisecond' FROM reserved
    )
    SELECT p_id, 'granted', r.free, NULL::bigint, NULL::timestamptz FROM reserved r;
  IF NOT FOUND THEN
    RETURN QUERY SELECT * FROM ledger_hold_batch(
      p_owner, ARRAY[p_id], ARRAY[p_account], ARRAY[p_key], ARRAY[p_amount], ARRAY[p_version], ARRAY[p_lifetime]);
  END IF;
END
$function$;
