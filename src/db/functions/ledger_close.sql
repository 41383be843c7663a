-- Ends holds; one row for each id. p_expired: without their owner, at their progress (p_costs is not read). Otherwise
-- at p_costs; 0 releases.
--
-- A cost that comes after the hold was expired is posted as the difference to what was charged then, once. One that
-- comes after a settlement changes nothing. A correction that gives back frees the cap of a key only in the period in
-- which its charge counts.
--
-- Of a movement that is more than a wallet has numbers for is posted what it has numbers for: else its hold would stay,
-- and with it every other that the reaper ends in the same statement. Such a wallet has no credit left for another
-- request, so what is not posted is bounded by what ran at that moment, and the audit tells it.
CREATE OR REPLACE FUNCTION public.ledger_close(p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_costs bigint[], p_picos numeric[], p_expired boolean)
 RETURNS TABLE(hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
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
      SELECT e.amount, e.ref, e.account_id, e.seq, e.budget_key_id INTO v_charge FROM entry e WHERE e.id = r.id AND e.kind = 'usage';
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
      v_counted[r.n] := CASE WHEN v_amount < 0 THEN EXISTS (SELECT FROM api_key k WHERE k.id = r.key_id AND k.account_id = r.account_id)
        ELSE EXISTS (SELECT FROM key_budget b WHERE b.key_id = r.key_id AND r.key_id = v_charge.budget_key_id
          AND b.since_seq < v_charge.seq AND b.period_start >= ledger_period_start(b.period, now())) END;
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
$function$;
