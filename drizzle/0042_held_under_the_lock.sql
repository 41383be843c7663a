-- A batch of one, as plain statements for the common case: nothing is open under this id, the key has no cap, the credit
-- is there. Everything else goes to ledger_hold_batch, which also knows why. The wallet is locked by a statement of its
-- own, so that the next one sees what was held and charged while this waited: the same hold, told on a connection that was
-- lost, may come to its turn after its exchange has ended.
CREATE OR REPLACE FUNCTION ledger_hold(p_owner uuid, p_id uuid, p_account bigint, p_key bigint, p_amount bigint, p_version bigint,
    p_lifetime bigint)
  RETURNS TABLE (hold_id uuid, result text, available bigint, key_available bigint, resets_at timestamptz) LANGUAGE plpgsql AS $$
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
$$;
--> statement-breakpoint
-- What 0002 set for it, which a function that is made anew lacks.
DO $$
DECLARE
  v_function regprocedure := 'ledger_hold(uuid, uuid, bigint, bigint, bigint, bigint, bigint)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
  EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
  EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
END
$$;
--> statement-breakpoint
-- Adds what was stored since the last time, a day's worth at most; the result: whether there is more. Rows have the
-- moment at which they were written, so what is stored within p_margin is left, and whatever is not older than the
-- oldest transaction that may still commit some: a commit can wait for its standby for longer than any margin. After the
-- clock was ahead and was set back, rows are written behind what was added up, and all is added up anew. By a clock that
-- runs on, what was added up ends p_margin ago or earlier; by one that was set back so far that rows may be missed, later
-- than half of that, since looks are a minute apart. One does it at a time.
CREATE OR REPLACE FUNCTION usage_add_up(p_margin interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_from timestamptz;
  v_last timestamptz := least(now() - p_margin, (
    SELECT min(a.xact_start) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.relation = 'exchange'::regclass AND l.mode = 'RowExclusiveLock' AND l.pid <> pg_backend_pid()));
  v_until timestamptz;
BEGIN
  SELECT p.stored_before INTO v_from FROM usage_progress p FOR UPDATE;
  IF v_from > clock_timestamp() - p_margin / 2 THEN
    DELETE FROM usage_total;
    UPDATE usage_progress SET stored_before = '-infinity';
    v_from := '-infinity';
  END IF;
  IF v_from = '-infinity' THEN
    SELECT coalesce(min(e.stored_at), v_last) INTO v_from FROM exchange e;
  END IF;
  v_until := least(v_last, v_from + interval '1 day');
  IF v_until <= v_from THEN
    RETURN false;
  END IF;
  INSERT INTO usage_total AS t
    SELECT u.account_id, u.at, u.key_id, u.model, u.channel, sum(u.requests), sum(u.failed), sum(u.cost_nano),
      sum(u.input), sum(u.cached), sum(u.output), u.service_tier
    FROM exchange e, usage_of(e) u WHERE e.stored_at >= v_from AND e.stored_at < v_until
    GROUP BY u.account_id, u.at, u.key_id, u.model, u.channel, u.service_tier
    ON CONFLICT (account_id, at, key_id, model, channel, service_tier) DO UPDATE SET
      requests = t.requests + excluded.requests, failed = t.failed + excluded.failed,
      cost_nano = t.cost_nano + excluded.cost_nano, input = t.input + excluded.input,
      cached = t.cached + excluded.cached, output = t.output + excluded.output;
  UPDATE usage_progress SET stored_before = v_until;
  RETURN v_until < v_last;
END
$$;
