-- The rules of the ledger (src/ledger/). Whoever writes to its tables does so through these functions, in this order of
-- locks: wallets by account, then key budgets by key. Holds are touched under the lock of their wallet, or without
-- waiting (ledger_progress). A statement of plpgsql sees what was committed before it began, so what is read after the
-- lock is current.
--
-- Errors: TG001 the calling process was taken for dead; TG002 a refusal, the message is for people; TG003 a wallet that
-- its entries do not explain; TG004 an attempt to change what is append-only.

-- Requests open and close holds at a high rate: room for HOT updates, and vacuum that follows.
ALTER TABLE wallet SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE hold SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
--> statement-breakpoint

-- Ids and months ---------------------------------------------------------------------------------------------------

CREATE FUNCTION ledger_new_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
  -- A UUIDv7: a random v4 whose first 48 bits become the time in ms and whose version becomes 7.
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(
    int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;
--> statement-breakpoint
CREATE FUNCTION ledger_first_id(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT rpad(lpad(to_hex(floor(extract(epoch FROM p_at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;
--> statement-breakpoint
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: no %', tg_table_name, lower(tg_op) USING ERRCODE = 'TG004';
END
$$;
--> statement-breakpoint
CREATE TABLE entry_default PARTITION OF entry DEFAULT;
--> statement-breakpoint
CREATE TRIGGER entry_append_only BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint
CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON entry EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint
CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON entry_default EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint
CREATE TRIGGER wallet_kept BEFORE DELETE ON wallet FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint
CREATE TRIGGER wallet_no_truncate BEFORE TRUNCATE ON wallet EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint

-- Makes the partitions of the months from the one before p_now to p_ahead months after it; returns how many were new.
CREATE FUNCTION ledger_make_partitions(p_now timestamptz, p_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_month timestamp;
  v_name text;
  v_made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(8390043843661231206);
  FOR i IN -1 .. p_ahead LOOP
    v_month := date_trunc('month', p_now AT TIME ZONE 'UTC') + make_interval(months => i);
    v_name := 'entry_' || to_char(v_month, 'YYYY_MM');
    CONTINUE WHEN to_regclass(v_name) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I PARTITION OF entry FOR VALUES FROM (%L) TO (%L)', v_name,
      ledger_first_id(v_month AT TIME ZONE 'UTC'),
      ledger_first_id((v_month + interval '1 month') AT TIME ZONE 'UTC'));
    EXECUTE format('CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION ledger_refuse_change()', v_name);
    v_made := v_made + 1;
  END LOOP;
  RETURN v_made;
END
$$;
--> statement-breakpoint

-- The second net: at commit, whatever moved in a wallet is explained by its last entry ------------------------------

CREATE FUNCTION ledger_check_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'UPDATE' AND (NEW.account_id <> OLD.account_id OR NEW.seq <= OLD.seq
      OR NEW.credits < OLD.credits OR NEW.debits < OLD.debits) THEN
    RAISE EXCEPTION 'the counters of wallet % only grow, and together', NEW.account_id USING ERRCODE = 'TG003';
  END IF;
  PERFORM FROM entry e WHERE e.id = NEW.last_entry_id AND e.account_id = NEW.account_id AND e.seq = NEW.seq
    AND e.balance_after = NEW.credits - NEW.debits;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'wallet % has no entry % with the balance %', NEW.account_id, NEW.seq, NEW.credits - NEW.debits
      USING ERRCODE = 'TG003';
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER wallet_explained AFTER UPDATE ON wallet DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.credits <> OLD.credits OR NEW.debits <> OLD.debits OR NEW.seq <> OLD.seq OR NEW.account_id <> OLD.account_id)
  EXECUTE FUNCTION ledger_check_wallet();
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER wallet_starts_empty AFTER INSERT ON wallet DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.credits <> 0 OR NEW.debits <> 0 OR NEW.seq <> 0) EXECUTE FUNCTION ledger_check_wallet();
--> statement-breakpoint

-- Periods of key budgets, in UTC ------------------------------------------------------------------------------------

CREATE FUNCTION ledger_period_start(p_period text, p_at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_period WHEN 'total' THEN to_timestamp(0)
    ELSE date_trunc(p_period, p_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' END
$$;
--> statement-breakpoint
CREATE FUNCTION ledger_period_end(p_period text, p_start timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_period WHEN 'total' THEN NULL
    ELSE (p_start AT TIME ZONE 'UTC' + ('1 ' || p_period)::interval) AT TIME ZONE 'UTC' END
$$;
--> statement-breakpoint

-- Hold and extend ---------------------------------------------------------------------------------------------------

-- Opens holds, and raises open ones to p_amounts where p_lifetimes (ms) is null. Repeating either changes nothing.
-- Admits in the order given, each against what those before it left, so a large one refuses only itself.
CREATE FUNCTION ledger_hold_batch(
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
    INSERT INTO key_budget (key_id, period, period_start)
      SELECT k.id, k.cap_period, ledger_period_start(k.cap_period, now()) FROM api_key k
      WHERE k.id = ANY (p_keys) AND k.cap_nano IS NOT NULL
        AND NOT EXISTS (SELECT FROM key_budget b WHERE b.key_id = k.id)
      ORDER BY k.id ON CONFLICT DO NOTHING;
  END IF;
  PERFORM FROM key_budget b WHERE b.key_id = ANY (p_keys) ORDER BY b.key_id FOR NO KEY UPDATE;
  IF v_capped THEN
    UPDATE key_budget b SET period = k.cap_period, period_start = ledger_period_start(k.cap_period, now()), spent = 0
      FROM api_key k WHERE b.key_id = ANY (p_keys) AND k.id = b.key_id AND k.cap_nano IS NOT NULL
        AND (b.period <> k.cap_period OR b.period_start < ledger_period_start(k.cap_period, now()));
  END IF;

  FOR r IN
    SELECT q.n::integer AS n, q.account_id, q.amount, q.lifetime IS NULL AS extends,
      coalesce(w.credits - w.debits + w.overdraft - w.pending, 0) AS free, coalesce(w.pending, 0) AS reserved,
      coalesce(a.status = 'active', false) AS account_good,
      coalesce(k.status = 'active' AND (h.id IS NOT NULL OR k.expires_at IS NULL OR k.expires_at > now()), false) AS key_good,
      b.key_id IS NOT NULL AS counted, k.cap_nano - b.spent - b.pending AS budget,
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
      WHEN r.budget IS NOT NULL AND v_budgets[r.slot] < v_need THEN 'key_budget_exhausted'
      WHEN v_free >= v_need THEN 'granted'
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

-- A batch of one, as one plain statement for the common case: nothing is open under this id, the key has no cap, the
-- credit is there. Everything else goes to ledger_hold_batch, which also knows why.
CREATE FUNCTION ledger_hold(
  p_owner uuid, p_id uuid, p_account bigint, p_key bigint, p_amount bigint, p_version bigint, p_lifetime bigint
) RETURNS TABLE (hold_id uuid, result text, available bigint, key_available bigint, resets_at timestamptz)
LANGUAGE plpgsql AS $$
BEGIN
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
$$;
--> statement-breakpoint

-- Settle, void, expire, true-up --------------------------------------------------------------------------------------

-- Ends holds. p_expired: without their owner, at their progress (p_costs is not read). Otherwise at p_costs; 0 voids.
-- A cost that comes after the hold was expired is posted as the difference to what was charged then, once. One that
-- comes after a settlement changes nothing. One row for each id.
CREATE FUNCTION ledger_close(
  p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_costs bigint[], p_picos numeric[], p_expired boolean
) RETURNS TABLE (hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_charge record;
  v_account bigint;
  v_seq bigint;
  v_balance bigint;
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
    SELECT q.n::integer AS n, q.id, q.account_id, q.key_id, q.cost, w.seq, w.credits - w.debits AS balance,
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
      v_balance := r.balance;
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
    CONTINUE WHEN v_amount = 0;
    v_seq := v_seq + 1;
    v_balance := v_balance + v_amount;
    v_kinds[r.n] := v_kind;
    v_seqs[r.n] := v_seq;
    v_amounts[r.n] := v_amount;
    v_balances[r.n] := v_balance;
  END LOOP;

  DELETE FROM hold h WHERE h.id = ANY (v_closed);
  INSERT INTO entry (id, kind, account_id, seq, amount, balance_after, cost_pico, ref)
    SELECT q.id, q.kind, q.account_id, q.seq, q.amount, q.balance, q.pico, CASE WHEN p_expired THEN 'expired' END
    FROM unnest(p_ids, v_kinds, p_accounts, v_seqs, v_amounts, v_balances, v_picos)
      AS q(id, kind, account_id, seq, amount, balance, pico)
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
        spent = greatest(0, s.cost + CASE WHEN b.period_start < ledger_period_start(b.period, now()) THEN 0 ELSE b.spent END)
      FROM (SELECT q.key_id, sum(q.held)::bigint AS held, -sum(q.amount)::bigint AS cost
        FROM unnest(p_keys, v_held, v_amounts, v_counted) AS q(key_id, held, amount, counted)
        WHERE q.counted GROUP BY q.key_id) s
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
CREATE FUNCTION ledger_settle_batch(p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_costs bigint[], p_picos numeric[])
RETURNS TABLE (hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
LANGUAGE sql AS $$
  SELECT * FROM ledger_close(p_ids, p_accounts, p_keys, p_costs, p_picos, false)
$$;
--> statement-breakpoint

-- A batch of one, as one plain statement for the common case: a hold of a key without a cap, and a cost.
CREATE FUNCTION ledger_settle(p_id uuid, p_account bigint, p_key bigint, p_cost bigint, p_pico numeric)
RETURNS TABLE (hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
    WITH locked AS (
      SELECT w.account_id FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE
    ), closed AS (
      DELETE FROM hold h USING locked l
        WHERE h.id = p_id AND h.account_id = l.account_id AND NOT h.budgeted AND p_cost > 0
        RETURNING h.amount
    ), moved AS (
      UPDATE wallet w SET debits = w.debits + p_cost, pending = w.pending - c.amount, seq = w.seq + 1, last_entry_id = p_id
        FROM closed c WHERE w.account_id = p_account
        RETURNING w.seq, w.credits - w.debits AS balance, w.credits - w.debits + w.overdraft - w.pending AS free, c.amount
    ), posted AS (
      INSERT INTO entry (id, kind, account_id, seq, amount, balance_after, cost_pico)
        SELECT p_id, 'usage', p_account, m.seq, -p_cost, m.balance, p_pico FROM moved m
    )
    SELECT p_id, 'settled', p_cost, greatest(0, p_cost - m.amount), m.free FROM moved m;
  IF NOT FOUND THEN
    RETURN QUERY SELECT * FROM ledger_settle_batch(
      ARRAY[p_id], ARRAY[p_account], ARRAY[p_key], ARRAY[p_cost], ARRAY[p_pico]);
  END IF;
END
$$;
--> statement-breakpoint

-- Processes ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION ledger_register(p_owner uuid, p_address text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO process (id, seen, address) VALUES (p_owner, clock_timestamp(), p_address)
$$;
--> statement-breakpoint
-- How many processes are alive, the caller included; 0 if it was taken for dead.
CREATE FUNCTION ledger_heartbeat(p_owner uuid) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  UPDATE process p SET seen = clock_timestamp() WHERE p.id = p_owner;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  RETURN (SELECT count(*) FROM process);
END
$$;
--> statement-breakpoint
CREATE FUNCTION ledger_leave(p_owner uuid) RETURNS void LANGUAGE sql AS $$
  DELETE FROM process p WHERE p.id = p_owner
$$;
--> statement-breakpoint

-- Notes what exchanges have cost so far. Returns those that must not go on: holds that are gone, and open ones of the
-- caller whose key or account was stopped. Waits for nobody: a hold that is being changed keeps its last checkpoint.
CREATE FUNCTION ledger_progress(p_owner uuid, p_ids uuid[], p_costs bigint[]) RETURNS TABLE (hold_id uuid, reason text)
LANGUAGE plpgsql AS $$
BEGIN
  WITH advanced AS (
    SELECT h.id, q.cost FROM unnest(p_ids, p_costs) AS q(id, cost) JOIN hold h ON h.id = q.id
      WHERE h.progress < q.cost FOR NO KEY UPDATE OF h SKIP LOCKED
  )
  UPDATE hold h SET progress = a.cost FROM advanced a WHERE h.id = a.id;
  RETURN QUERY
    SELECT q.id, 'hold_expired' FROM unnest(p_ids) AS q(id) WHERE NOT EXISTS (SELECT FROM hold h WHERE h.id = q.id)
    UNION ALL
    SELECT h.id, CASE WHEN a.status = 'active' THEN 'key_revoked' ELSE 'account_suspended' END
      FROM hold h JOIN account a ON a.id = h.account_id JOIN api_key k ON k.id = h.key_id
      WHERE h.owner = p_owner AND (a.status <> 'active' OR k.status <> 'active');
END
$$;
--> statement-breakpoint

-- Settles at their progress the holds whose process is dead or whose deadline has passed, at most p_limit of them.
CREATE FUNCTION ledger_reap(p_dead_after bigint, p_limit integer)
RETURNS TABLE (hold_id uuid, account_id bigint, charged bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_dead uuid[];
  v_ids uuid[];
  v_accounts bigint[];
  v_keys bigint[];
BEGIN
  SELECT array_agg(d.id) INTO v_dead FROM (
    SELECT p.id FROM process p WHERE p.seen < clock_timestamp() - p_dead_after * interval '1 millisecond'
      ORDER BY p.id FOR UPDATE SKIP LOCKED) d;
  -- Holds are not locked here: their wallets come first, and who else ends one of them is found by ledger_close.
  SELECT array_agg(o.id), array_agg(o.account_id), array_agg(o.key_id) INTO v_ids, v_accounts, v_keys FROM (
    SELECT h.id, h.account_id, h.key_id FROM hold h
      WHERE h.owner = ANY (v_dead) OR h.deadline < clock_timestamp()
        OR NOT EXISTS (SELECT FROM process p WHERE p.id = h.owner)
      ORDER BY h.id LIMIT p_limit) o;
  IF v_ids IS NOT NULL THEN
    RETURN QUERY
      SELECT c.hold_id, q.account_id, c.charged
        FROM ledger_close(v_ids, v_accounts, v_keys, array_fill(0::bigint, ARRAY[cardinality(v_ids)]),
          array_fill(0::numeric, ARRAY[cardinality(v_ids)]), true) c
        JOIN unnest(v_ids, v_accounts) AS q(id, account_id) ON q.id = c.hold_id
        WHERE c.outcome = 'settled';
  END IF;
  DELETE FROM process p WHERE p.id = ANY (v_dead) AND NOT EXISTS (SELECT FROM hold h WHERE h.owner = p.id);
END
$$;
--> statement-breakpoint

-- Everything that is not usage ---------------------------------------------------------------------------------------

CREATE FUNCTION ledger_priority(p_grant text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT array_position(ARRAY['trial', 'promo', 'goodwill', 'returned', 'paid'], p_grant) - 1
$$;
--> statement-breakpoint

-- One entry with its grant; returns the balance. The caller has checked everything.
CREATE FUNCTION ledger_append(
  p_id uuid, p_account bigint, p_kind text, p_amount bigint, p_ref text, p_reason text, p_expires_at timestamptz
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint;
  v_balance bigint;
  v_grant text;
BEGIN
  UPDATE wallet w SET credits = w.credits + greatest(p_amount, 0), debits = w.debits + greatest(-p_amount, 0),
      seq = w.seq + 1, last_entry_id = p_id
    WHERE w.account_id = p_account RETURNING w.seq, w.credits - w.debits INTO v_seq, v_balance;
  INSERT INTO entry (id, kind, account_id, seq, amount, balance_after, ref, reason)
    VALUES (p_id, p_kind, p_account, v_seq, p_amount, v_balance, p_ref, p_reason);
  IF p_amount > 0 THEN
    v_grant := CASE WHEN p_kind = 'topup' THEN 'paid' WHEN p_kind IN ('trial', 'promo', 'goodwill') THEN p_kind ELSE 'returned' END;
    INSERT INTO ledger_grant (entry_id, entry_kind, account_id, kind, amount, priority, expires_at)
      VALUES (p_id, p_kind, p_account, v_grant, p_amount, ledger_priority(v_grant), p_expires_at);
  END IF;
  RETURN v_balance;
END
$$;
--> statement-breakpoint

-- The wallet of a new account, and its first credit if there is any. In the transaction that inserts the account.
CREATE FUNCTION ledger_open_account(p_account bigint, p_amount bigint, p_kind text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO wallet (account_id) VALUES (p_account);
  IF p_amount > 0 THEN
    PERFORM ledger_append(ledger_new_id(), p_account, p_kind, p_amount, NULL, 'opening credit', NULL);
  END IF;
END
$$;
--> statement-breakpoint
CREATE FUNCTION ledger_lock_wallet(p_account bigint) RETURNS TABLE (credits bigint, debits bigint, pending bigint)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT w.credits, w.debits, w.pending FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'There is no account %', p_account USING ERRCODE = 'TG002';
  END IF;
END
$$;
--> statement-breakpoint

-- Posts one entry. The same id and kind again changes nothing; neither does the same p_scope and p_key, under whatever
-- id. Money that leaves as a refund must be there; a refund of usage is bounded by what the usage cost.
CREATE FUNCTION ledger_post(
  p_id uuid, p_account bigint, p_kind text, p_amount bigint, p_ref text, p_reason text, p_expires_at timestamptz,
  p_scope text, p_key text
) RETURNS TABLE (entry_id uuid, posted boolean, balance bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_id uuid := p_id;
  v_old record;
  v_wallet record;
  v_charged numeric;
  v_refunded numeric;
BEGIN
  IF p_kind NOT IN ('topup', 'refund', 'chargeback', 'trial', 'promo', 'goodwill', 'write_off', 'adjustment', 'debit', 'usage_refund') THEN
    RAISE EXCEPTION 'Entries of kind % are not posted by hand', p_kind USING ERRCODE = 'TG002';
  END IF;
  IF p_scope IS NOT NULL THEN
    INSERT INTO idempotency (scope, key, id) VALUES (p_scope, p_key, p_id) ON CONFLICT DO NOTHING;
    SELECT i.id INTO v_id FROM idempotency i WHERE i.scope = p_scope AND i.key = p_key;
  END IF;
  SELECT * INTO v_wallet FROM ledger_lock_wallet(p_account);
  SELECT e.account_id, e.amount, e.balance_after INTO v_old FROM entry e WHERE e.id = v_id AND e.kind = p_kind;
  IF FOUND THEN
    IF v_old.account_id <> p_account OR v_old.amount <> p_amount THEN
      RAISE EXCEPTION 'Entry % is there already, with another account or amount', v_id USING ERRCODE = 'TG002';
    END IF;
    RETURN QUERY SELECT v_id, false, v_wallet.credits - v_wallet.debits;
    RETURN;
  END IF;

  PERFORM FROM account a WHERE a.id = p_account AND a.status = 'closed';
  IF FOUND AND p_amount > 0 THEN
    RAISE EXCEPTION 'Account % is closed', p_account USING ERRCODE = 'TG002';
  END IF;
  IF p_expires_at <= now() THEN
    RAISE EXCEPTION 'Credit that has expired cannot be given' USING ERRCODE = 'TG002';
  END IF;
  IF p_kind = 'refund' AND -p_amount > v_wallet.credits - v_wallet.debits - v_wallet.pending THEN
    RAISE EXCEPTION 'Account % has less than that to give back', p_account USING ERRCODE = 'TG002';
  END IF;
  IF p_kind = 'trial' AND EXISTS (SELECT FROM ledger_grant g WHERE g.account_id = p_account AND g.kind = 'trial') THEN
    RAISE EXCEPTION 'Account % has had its trial credit', p_account USING ERRCODE = 'TG002';
  END IF;
  IF p_kind = 'usage_refund' THEN
    SELECT -sum(e.amount) INTO v_charged FROM entry e
      WHERE e.id = p_ref::uuid AND e.kind IN ('usage', 'usage_trueup') AND e.account_id = p_account;
    SELECT coalesce(sum(e.amount), 0) INTO v_refunded FROM entry e WHERE e.ref = p_ref AND e.kind = 'usage_refund';
    IF v_charged IS NULL OR v_refunded + p_amount > v_charged THEN
      RAISE EXCEPTION 'Request % did not cost account % that much', p_ref, p_account USING ERRCODE = 'TG002';
    END IF;
  END IF;

  IF p_kind = 'topup' THEN
    UPDATE account a SET on_trial = false WHERE a.id = p_account AND a.on_trial;
    IF FOUND THEN
      -- Every process forgets what it knew of the account's keys (src/accounts/key-cache.ts).
      PERFORM pg_notify('tollgate_keys', 'account:' || p_account);
    END IF;
  END IF;
  RETURN QUERY SELECT v_id, true, ledger_append(v_id, p_account, p_kind, p_amount, p_ref, p_reason, p_expires_at);
END
$$;
--> statement-breakpoint

-- Takes what is left of an expired grant (src/ledger/burn-down.ts says how much), and closes it if that was all.
CREATE FUNCTION ledger_expire(
  p_id uuid, p_account bigint, p_grant uuid, p_grant_kind text, p_amount bigint, p_close boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_amount > 0 THEN
    PERFORM ledger_append(p_id, p_account, 'expiry', -p_amount, p_grant::text, NULL, NULL);
  END IF;
  IF p_close THEN
    UPDATE ledger_grant g SET closed_at = now() WHERE g.entry_id = p_grant AND g.entry_kind = p_grant_kind;
  END IF;
END
$$;
--> statement-breakpoint
CREATE FUNCTION ledger_create_codes(p_hashes bytea[], p_amount bigint, p_uses integer, p_expires_at timestamptz)
RETURNS void LANGUAGE sql AS $$
  INSERT INTO redeem_code (code_hash, amount, max_uses, expires_at) SELECT h, p_amount, p_uses, p_expires_at FROM unnest(p_hashes) h
$$;
--> statement-breakpoint

-- Each account redeems a code once; the same id again tells the same.
CREATE FUNCTION ledger_redeem(p_id uuid, p_hash bytea, p_account bigint)
RETURNS TABLE (result text, amount bigint, balance bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_wallet record;
  v_entry uuid;
  v_amount bigint;
BEGIN
  SELECT * INTO v_wallet FROM ledger_lock_wallet(p_account);
  SELECT d.entry_id INTO v_entry FROM redemption d WHERE d.code_hash = p_hash AND d.account_id = p_account;
  IF FOUND THEN
    RETURN QUERY SELECT CASE WHEN v_entry = p_id THEN 'redeemed' ELSE 'already_redeemed' END, c.amount,
      v_wallet.credits - v_wallet.debits FROM redeem_code c WHERE c.code_hash = p_hash;
    RETURN;
  END IF;
  UPDATE redeem_code c SET uses = c.uses + 1
    WHERE c.code_hash = p_hash AND c.uses < c.max_uses AND (c.expires_at IS NULL OR c.expires_at > now())
    RETURNING c.amount INTO v_amount;
  IF NOT FOUND THEN
    RETURN QUERY SELECT coalesce((SELECT CASE WHEN c.expires_at <= now() THEN 'expired' ELSE 'used_up' END
        FROM redeem_code c WHERE c.code_hash = p_hash), 'unknown'),
      0::bigint, v_wallet.credits - v_wallet.debits;
    RETURN;
  END IF;
  INSERT INTO redemption (code_hash, account_id, entry_id) VALUES (p_hash, p_account, p_id);
  RETURN QUERY SELECT 'redeemed', v_amount,
    ledger_append(p_id, p_account, 'promo', v_amount, 'redeem code ' || left(encode(p_hash, 'hex'), 16), NULL, NULL);
END
$$;
--> statement-breakpoint

-- Adds the sums of the days that are over (for an hour, so that whatever began in them has committed).
CREATE FUNCTION ledger_roll_up(p_now timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_from timestamptz;
  v_rows integer;
BEGIN
  PERFORM pg_advisory_xact_lock(8390043843661231207);
  SELECT coalesce((max(d.day) + 1)::timestamp AT TIME ZONE 'UTC', '-infinity') INTO v_from FROM daily_total d;
  INSERT INTO daily_total (day, kind, entries, amount)
    SELECT (e.created_at AT TIME ZONE 'UTC')::date, e.kind, count(*), sum(e.amount) FROM entry e
      WHERE e.created_at >= v_from AND e.created_at < ledger_period_start('day', p_now - interval '1 hour')
      GROUP BY 1, 2;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END
$$;
--> statement-breakpoint

-- They act with the rights of their owner, in the schema they were made in, and for whom it is granted. One role that
-- owns everything needs no more; a deployment that separates roles grants EXECUTE on them and SELECT on the tables.
-- Their plans are made once: every step is a lookup by key, and planning a probe of a partitioned table costs ten
-- times the probe (Postgres 15, a commit of 512 wallets: 16 ms without wallet_explained, 77 with it, 22 with it and this).
-- They must go by index also when they are made, which is while the tables are empty: a scan of all holds or entries
-- would stay until the tables are next analyzed, and take longer with each request (after 33,000 entries: 17 ms a batch).
DO $$
DECLARE
  v_function regprocedure;
BEGIN
  FOR v_function IN
    SELECT p.oid FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname LIKE 'ledger\_%' AND p.provolatile = 'v'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
    CONTINUE WHEN v_function = 'ledger_roll_up'::regproc;
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
  END LOOP;
END
$$;
--> statement-breakpoint
SELECT ledger_make_partitions(now(), 3);
