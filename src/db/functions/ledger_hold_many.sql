-- A batch of holds as a few plain statements for the common case: none of them is open yet, no key has a cap, and every
-- account has the credit for all that is asked of it. Everything else goes to ledger_hold_batch, which knows why, and
-- which of them may be admitted. An id is in a batch once.
CREATE OR REPLACE FUNCTION public.ledger_hold_many(p_owner uuid, p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_amounts bigint[], p_versions bigint[], p_lifetimes bigint[])
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
  IF array_position(p_lifetimes, NULL) IS NULL
      AND NOT EXISTS (SELECT FROM api_key k WHERE k.id = ANY (p_keys) AND k.cap_nano IS NOT NULL) THEN
    PERFORM FROM wallet w WHERE w.account_id = ANY (p_accounts) ORDER BY w.account_id FOR NO KEY UPDATE;
    WITH asked AS (
      SELECT q.account_id, q.key_id, sum(q.amount) AS need, count(*) AS holds
        FROM unnest(p_accounts, p_keys, p_amounts) AS q(account_id, key_id, amount)
        GROUP BY q.account_id, q.key_id
    ), payable AS MATERIALIZED (
      SELECT p.account_id, p.need, p.holds
        FROM (SELECT s.account_id, sum(s.need) AS need, sum(s.holds) AS holds
          FROM asked s JOIN account a ON a.id = s.account_id JOIN api_key k ON k.id = s.key_id
          WHERE a.status = 'active' AND k.account_id = s.account_id AND k.status = 'active' AND k.cap_nano IS NULL
            AND (k.expires_at IS NULL OR k.expires_at > now())
          GROUP BY s.account_id) p
        JOIN wallet w ON w.account_id = p.account_id
        WHERE w.credits - w.debits + w.overdraft - w.pending >= p.need
    ), reserved AS (
      -- All of them or none: each condition but the first is one of the whole batch.
      UPDATE wallet w SET pending = w.pending + p.need::bigint FROM payable p
        WHERE w.account_id = p.account_id
          AND (SELECT sum(a.holds) FROM payable a) = cardinality(p_ids)
          AND EXISTS (SELECT FROM process o WHERE o.id = p_owner)
          AND NOT EXISTS (SELECT FROM hold h WHERE h.id = ANY (p_ids))
          AND NOT EXISTS (SELECT FROM entry e WHERE e.id = ANY (p_ids) AND e.kind IN ('usage', 'usage_trueup'))
        RETURNING 1
    )
    INSERT INTO hold (id, account_id, key_id, owner, amount, price_version, budgeted, deadline)
      SELECT q.id, q.account_id, q.key_id, p_owner, q.amount, q.version, false,
        now() + q.lifetime * interval '1 millisecond'
      FROM unnest(p_ids, p_accounts, p_keys, p_amounts, p_versions, p_lifetimes)
        AS q(id, account_id, key_id, amount, version, lifetime)
      WHERE EXISTS (SELECT FROM reserved);
    IF FOUND THEN
      RETURN QUERY
        SELECT q.id, 'granted', w.credits - w.debits + w.overdraft - w.pending, NULL::bigint, NULL::timestamptz
          FROM unnest(p_ids, p_accounts) AS q(id, account_id) JOIN wallet w ON w.account_id = q.account_id;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY SELECT * FROM ledger_hold_batch(p_owner, p_ids, p_accounts, p_keys, p_amounts, p_versions, p_lifetimes);
END
$function$;
