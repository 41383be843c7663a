-- What a key with a cap has spent is audited: the entries that it is the sum of are marked with the key, and the budget
-- knows from which on they count.
ALTER TABLE "entry" ADD COLUMN "budget_key_id" bigint;--> statement-breakpoint
ALTER TABLE "key_budget" ADD COLUMN "since_seq" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "key_budget" ADD COLUMN "unexplained" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "entry_budget" ON "entry" USING btree ("budget_key_id","seq") WHERE "entry"."budget_key_id" is not null;
--> statement-breakpoint
-- What was spent until now was not marked.
UPDATE key_budget b SET since_seq = w.seq, unexplained = b.spent
  FROM api_key k JOIN wallet w ON w.account_id = k.account_id WHERE k.id = b.key_id;
--> statement-breakpoint
-- Opens holds, and raises open ones to p_amounts where p_lifetimes (ms) is null. Repeating either changes nothing.
-- Admits in the order given, each against what those before it left, so a large one refuses only itself. Else as in 0019.
CREATE OR REPLACE FUNCTION ledger_hold_batch(
  p_owner uuid, p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_amounts bigint[], p_versions bigint[],
  p_lifetimes bigint[]
) RETURNS TABLE (hold_id uuid, result text, available bigint, key_available bigint, resets_at timestamptz)
LANGUAGE plpgsql AS $$
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
$$;
--> statement-breakpoint
-- Ends holds. p_expired: without their owner, at their progress (p_costs is not read). Otherwise at p_costs; 0 voids.
-- A cost that comes after the hold was expired is posted as the difference to what was charged then, once. One that
-- comes after a settlement changes nothing. One row for each id. Of a movement that is more than a wallet has numbers for
-- is posted what it has numbers for. Else as in 0016.
CREATE OR REPLACE FUNCTION ledger_close(
  p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_costs bigint[], p_picos numeric[], p_expired boolean
) RETURNS TABLE (hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_most CONSTANT bigint := 9223372036854775807;
  v_charge record;
  v_account bigint;
  v_seq bigint;
  v_credits bigint;
  v_debits bigint;
  v_amount bigint;
  v_kind text;
  v_counts boolean := false;
  v_gives_back boolean := false;
  v_outcomes text[] := array_fill(NULL::text, ARRAY[cardinality(p_ids)]);
  v_kinds text[] := array_fill(NULL::text, ARRAY[cardinality(p_ids)]);
  v_seqs bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_ids)]);
  v_amounts bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_ids)]);
  v_balances bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_ids)]);
  v_picos numeric[] := p_picos;
  v_held bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_ids)]);
  v_counted boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
  v_closed uuid[] := '{}';
BEGIN
  PERFORM FROM wallet w WHERE w.account_id = ANY (p_accounts) ORDER BY w.account_id FOR NO KEY UPDATE;
  PERFORM FROM key_budget b WHERE b.key_id = ANY (p_keys) ORDER BY b.key_id FOR NO KEY UPDATE;

  FOR r IN
    SELECT q.n::integer AS n, q.id, q.account_id, q.key_id, q.cost, w.seq, w.credits, w.debits,
      h.amount AS held, h.progress, h.budgeted, h.account_id = q.account_id AS same
    FROM (SELECT DISTINCT ON (u.id) u.* FROM unnest(p_ids, p_accounts, p_keys, p_costs) WITH ORDINALITY
        AS u(id, account_id, key_id, cost, n) ORDER BY u.id, u.n) q
    JOIN wallet w ON w.account_id = q.account_id
    LEFT JOIN hold h ON h.id = q.id
    ORDER BY q.account_id, q.n
  LOOP
    IF r.account_id IS DISTINCT FROM v_account THEN
      v_account := r.account_id;
      v_seq := r.seq;
      v_credits := r.credits;
      v_debits := r.debits;
    END IF;
    v_outcomes[r.n] := 'duplicate';
    IF r.same THEN
      v_outcomes[r.n] := 'settled';
      v_kind := 'usage';
      v_amount := -CASE WHEN p_expired THEN r.progress ELSE r.cost END;
      v_closed := v_closed || r.id;
      v_held[r.n] := r.held;
      v_counted[r.n] := r.budgeted;
      IF p_expired THEN
        v_picos[r.n] := r.progress::numeric * 1000;
      END IF;
    ELSE
      CONTINUE WHEN p_expired OR r.held IS NOT NULL;
      SELECT e.amount, e.ref, e.account_id INTO v_charge FROM entry e WHERE e.id = r.id AND e.kind = 'usage';
      CONTINUE WHEN FOUND AND (v_charge.ref IS DISTINCT FROM 'expired' OR v_charge.account_id <> r.account_id);
      CONTINUE WHEN EXISTS (SELECT FROM entry e WHERE e.id = r.id AND e.kind = 'usage_trueup');
      v_kind := 'usage_trueup';
      v_amount := -(r.cost + coalesce(v_charge.amount, 0));
      IF v_amount > 0 THEN
        -- What was refunded meanwhile is not given back again.
        v_amount := least(v_amount, -v_charge.amount - (SELECT coalesce(sum(e.amount), 0) FROM entry e
          WHERE e.ref = r.id::text AND e.kind = 'usage_refund'));
      END IF;
      CONTINUE WHEN v_amount = 0;
      v_outcomes[r.n] := 'trued_up';
      v_counted[r.n] := EXISTS (SELECT FROM api_key k WHERE k.id = r.key_id AND k.account_id = r.account_id);
      v_gives_back := v_gives_back OR v_amount > 0;
    END IF;
    v_counts := v_counts OR v_counted[r.n];
    IF v_amount < v_debits - v_most THEN
      v_amount := v_debits - v_most;
      IF v_kind = 'usage' THEN
        v_picos[r.n] := -v_amount::numeric * 1000;
      END IF;
    ELSIF v_amount > v_most - v_credits THEN
      v_amount := v_most - v_credits;
    END IF;
    CONTINUE WHEN v_amount = 0;
    v_seq := v_seq + 1;
    v_credits := v_credits + greatest(v_amount, 0);
    v_debits := v_debits + greatest(-v_amount, 0);
    v_kinds[r.n] := v_kind;
    v_seqs[r.n] := v_seq;
    v_amounts[r.n] := v_amount;
    v_balances[r.n] := v_credits - v_debits;
  END LOOP;

  DELETE FROM hold h WHERE h.id = ANY (v_closed);
  INSERT INTO entry (id, kind, account_id, seq, amount, balance_after, cost_pico, ref, budget_key_id)
    SELECT q.id, q.kind, q.account_id, q.seq, q.amount, q.balance, q.pico, CASE WHEN p_expired THEN 'expired' END,
      CASE WHEN q.counted THEN q.key_id END
    FROM unnest(p_ids, v_kinds, p_accounts, v_seqs, v_amounts, v_balances, v_picos, p_keys, v_counted)
      AS q(id, kind, account_id, seq, amount, balance, pico, key_id, counted)
    WHERE q.kind IS NOT NULL;
  IF v_gives_back THEN
    INSERT INTO ledger_grant (entry_id, entry_kind, account_id, kind, amount, priority)
      SELECT q.id, q.kind, q.account_id, 'returned', q.amount, ledger_priority('returned')
      FROM unnest(p_ids, v_kinds, p_accounts, v_amounts) AS q(id, kind, account_id, amount) WHERE q.amount > 0;
  END IF;
  UPDATE wallet w SET credits = w.credits + s.inward, debits = w.debits + s.outward, pending = w.pending - s.held,
      seq = w.seq + s.entries, last_entry_id = coalesce(s.last_id, w.last_entry_id)
    FROM (SELECT q.account_id, sum(q.held)::bigint AS held, sum(greatest(q.amount, 0))::bigint AS inward,
        sum(greatest(-q.amount, 0))::bigint AS outward, count(q.seq) AS entries,
        (array_agg(q.id ORDER BY q.seq DESC NULLS LAST) FILTER (WHERE q.seq IS NOT NULL))[1] AS last_id
      FROM unnest(p_ids, p_accounts, v_amounts, v_held, v_seqs) AS q(id, account_id, amount, held, seq)
      GROUP BY q.account_id) s
    WHERE w.account_id = s.account_id AND (s.held > 0 OR s.entries > 0);
  IF v_counts THEN
    UPDATE key_budget b SET pending = b.pending - s.held,
        period_start = greatest(b.period_start, ledger_period_start(b.period, now())),
        spent = greatest(0, s.cost + o.spent),
        since_seq = CASE WHEN o.is_over THEN coalesce(s.first_seq - 1, w.seq) ELSE b.since_seq END,
        unexplained = CASE WHEN o.is_over THEN 0 ELSE b.unexplained END + greatest(0, -s.cost - o.spent)
      FROM (SELECT q.key_id, q.account_id, sum(q.held)::bigint AS held, -sum(q.amount)::bigint AS cost, min(q.seq) AS first_seq
        FROM unnest(p_keys, p_accounts, v_held, v_amounts, v_seqs, v_counted) AS q(key_id, account_id, held, amount, seq, counted)
        WHERE q.counted GROUP BY q.key_id, q.account_id) s
      JOIN wallet w ON w.account_id = s.account_id
      JOIN LATERAL (SELECT k.key_id, k.period_start < ledger_period_start(k.period, now()) AS is_over,
        CASE WHEN k.period_start < ledger_period_start(k.period, now()) THEN 0 ELSE k.spent END AS spent
        FROM key_budget k WHERE k.key_id = s.key_id) o ON true
      WHERE b.key_id = s.key_id;
  END IF;

  RETURN QUERY
    SELECT q.id, q.outcome, -q.amount, CASE WHEN q.outcome = 'settled' THEN greatest(0, -q.amount - q.held) ELSE 0 END,
      w.credits - w.debits + w.overdraft - w.pending
    FROM unnest(p_ids, p_accounts, v_outcomes, v_amounts, v_held) AS q(id, account_id, outcome, amount, held)
    JOIN wallet w ON w.account_id = q.account_id
    WHERE q.outcome IS NOT NULL;
END
$$;
--> statement-breakpoint
-- What 0002 set for all of them, which a function that is replaced loses.
DO $$
DECLARE
  v_function regprocedure;
BEGIN
  FOREACH v_function IN ARRAY ARRAY['ledger_hold_batch(uuid, uuid[], bigint[], bigint[], bigint[], bigint[], bigint[])',
    'ledger_close(uuid[], bigint[], bigint[], bigint[], numeric[], boolean)']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
  END LOOP;
END
$$;
