-- Opens holds, and raises open ones to p_amounts where p_lifetimes (ms) is null. Repeating either changes nothing.
-- Admits in the order given, each against what those before it left, so a large one refuses only itself.
--
-- A cap that only the running requests of its own key are in the way of is not used up: it is 'credit_reserved', as
-- with the account's credit, and so worth another try in a moment instead of in the next period.
CREATE OR REPLACE FUNCTION public.ledger_hold_batch(p_owner uuid, p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_amounts bigint[], p_versions bigint[], p_lifetimes bigint[])
 RETURNS TABLE(hold_id uuid, result text, available bigint, key_available bigint, resets_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  r record;
  v_capped boolean;
  v_account bigint;
  v_free bigint;
  v_reserved bigint;
  v_need bigint;
  v_result text;
  v_results text[] := array_fill(NULL::text, ARRAY[cardinality(p_ids)]);
  v_needs bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_ids)]);
  v_counted boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
  v_budgets bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_ids)]);
BEGIN
  PERFORM FROM process p WHERE p.id = p_owner;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'process % is not known', p_owner USING ERRCODE = 'TG001';
  END IF;

  PERFORM FROM wallet w WHERE w.account_id = ANY (p_accounts) ORDER BY w.account_id FOR NO KEY UPDATE;
  v_capped := EXISTS (SELECT FROM api_key k WHERE k.id = ANY (p_keys) AND k.cap_nano IS NOT NULL);
  IF v_capped THEN
    INSERT INTO key_budget (key_id, period, period_start, since_seq)
      SELECT k.id, k.cap_period, ledger_period_start(k.cap_period, now()), w.seq
      FROM api_key k JOIN wallet w ON w.account_id = k.account_id
      WHERE k.id = ANY (p_keys) AND k.cap_nano IS NOT NULL
        AND NOT EXISTS (SELECT FROM key_budget b WHERE b.key_id = k.id)
      ORDER BY k.id ON CONFLICT DO NOTHING;
  END IF;
  PERFORM FROM key_budget b WHERE b.key_id = ANY (p_keys) ORDER BY b.key_id FOR NO KEY UPDATE;
  IF v_capped THEN
    UPDATE key_budget b SET period = k.cap_period, period_start = ledger_period_start(k.cap_period, now()), spent = 0,
        since_seq = w.seq, unexplained = 0
      FROM api_key k JOIN wallet w ON w.account_id = k.account_id WHERE b.key_id = ANY (p_keys) AND k.id = b.key_id AND k.cap_nano IS NOT NULL
        AND (b.period <> k.cap_period OR b.period_start < ledger_period_start(k.cap_period, now()));
  END IF;

  FOR r IN
    SELECT q.n::integer AS n, q.account_id, q.amount, q.lifetime IS NULL AS extends,
      coalesce(w.credits - w.debits + w.overdraft - w.pending, 0) AS free, coalesce(w.pending, 0) AS reserved,
      coalesce(a.status = 'active', false) AS account_good,
      coalesce(k.status = 'active' AND (h.id IS NOT NULL OR k.expires_at IS NULL OR k.expires_at > now()), false) AS key_good,
      b.key_id IS NOT NULL AS counted, k.cap_nano - b.spent - b.pending AS budget, k.cap_nano - b.spent AS unspent,
      min(q.n) OVER (PARTITION BY q.key_id)::integer AS slot,
      h.amount AS held, h.account_id = q.account_id AND h.key_id = q.key_id AS same,
      -- Not EXISTS, which the planner may turn into a hash of all entries there are.
      coalesce((SELECT true FROM entry e WHERE e.id = q.id AND e.kind IN ('usage', 'usage_trueup') LIMIT 1), false) AS closed
    FROM unnest(p_ids, p_accounts, p_keys, p_amounts, p_lifetimes)
      WITH ORDINALITY AS q(id, account_id, key_id, amount, lifetime, n)
    LEFT JOIN wallet w ON w.account_id = q.account_id
    LEFT JOIN account a ON a.id = q.account_id
    LEFT JOIN api_key k ON k.id = q.key_id AND k.account_id = q.account_id
    LEFT JOIN hold h ON h.id = q.id
    LEFT JOIN key_budget b ON b.key_id = k.id AND CASE WHEN h.id IS NULL THEN k.cap_nano IS NOT NULL ELSE h.budgeted END
    ORDER BY q.account_id, q.n
  LOOP
    IF r.account_id IS DISTINCT FROM v_account THEN
      v_account := r.account_id;
      v_free := r.free;
      v_reserved := r.reserved;
    END IF;
    IF v_budgets[r.slot] IS NULL THEN
      v_budgets[r.slot] := r.budget;
    END IF;
    v_need := r.amount - coalesce(r.held, 0);
    v_result := CASE
      WHEN NOT r.same THEN 'conflict'
      WHEN r.held IS NULL AND r.extends THEN 'hold_expired'
      WHEN r.closed THEN 'conflict'
      WHEN r.held IS NOT NULL AND v_need <= 0 THEN 'granted'
      WHEN NOT r.key_good THEN 'key_revoked'
      WHEN NOT r.account_good THEN 'account_suspended'
      WHEN r.budget IS NOT NULL AND r.amount > r.unspent THEN 'key_budget_exhausted'
      WHEN v_free >= v_need AND (r.budget IS NULL OR v_budgets[r.slot] >= v_need) THEN 'granted'
      WHEN v_free + v_reserved - coalesce(r.held, 0) >= v_need THEN 'credit_reserved'
      ELSE 'credit_exhausted' END;
    v_results[r.n] := v_result;
    CONTINUE WHEN v_result <> 'granted';
    v_need := greatest(v_need, 0);
    v_needs[r.n] := v_need;
    v_counted[r.n] := r.counted;
    v_free := v_free - v_need;
    v_reserved := v_reserved + v_need;
    IF r.budget IS NOT NULL THEN
      v_budgets[r.slot] := v_budgets[r.slot] - v_need;
    END IF;
  END LOOP;

  -- A hold that is there already is raised, and belongs to the caller from now on.
  INSERT INTO hold (id, account_id, key_id, owner, amount, price_version, budgeted, deadline)
    SELECT q.id, q.account_id, q.key_id, p_owner, q.amount, q.version, v_counted[q.n],
      now() + q.lifetime * interval '1 millisecond'
    FROM unnest(p_ids, p_accounts, p_keys, p_amounts, p_versions, p_lifetimes)
      WITH ORDINALITY AS q(id, account_id, key_id, amount, version, lifetime, n)
    WHERE v_results[q.n] = 'granted' AND q.lifetime IS NOT NULL
    ON CONFLICT (id) DO UPDATE SET amount = greatest(hold.amount, excluded.amount), owner = excluded.owner
      WHERE hold.amount < excluded.amount OR hold.owner <> excluded.owner;
  UPDATE hold h SET amount = greatest(h.amount, q.amount), owner = p_owner
    FROM unnest(p_ids, p_amounts, p_lifetimes) WITH ORDINALITY AS q(id, amount, lifetime, n)
    WHERE h.id = q.id AND v_results[q.n] = 'granted' AND q.lifetime IS NULL;
  UPDATE wallet w SET pending = w.pending + s.need
    FROM (SELECT q.account_id, sum(q.need)::bigint AS need FROM unnest(p_accounts, v_needs) AS q(account_id, need)
      GROUP BY q.account_id) s
    WHERE w.account_id = s.account_id AND s.need > 0;
  UPDATE key_budget b SET pending = b.pending + s.need
    FROM (SELECT q.key_id, sum(q.need)::bigint AS need
      FROM unnest(p_keys, v_needs, v_counted) AS q(key_id, need, counted) WHERE q.counted GROUP BY q.key_id) s
    WHERE b.key_id = s.key_id AND s.need > 0;

  RETURN QUERY
    SELECT q.id, v_results[q.n], coalesce(w.credits - w.debits + w.overdraft - w.pending, 0),
      k.cap_nano - b.spent - b.pending, ledger_period_end(b.period, b.period_start)
    FROM unnest(p_ids, p_accounts, p_keys) WITH ORDINALITY AS q(id, account_id, key_id, n)
    LEFT JOIN wallet w ON w.account_id = q.account_id
    LEFT JOIN api_key k ON k.id = q.key_id AND k.cap_nano IS NOT NULL
    LEFT JOIN key_budget b ON b.key_id = k.id
    ORDER BY q.n;
END
$function$;
