-- Adds what was stored since the last time, a day's worth at most; the result: whether there is more. Rows have the
-- moment at which they were written, so what is stored within p_margin is left, and whatever is not older than the
-- oldest transaction that may still commit some: a commit can wait for its standby for longer than any margin. After the
-- clock was ahead and was set back, rows are written behind what was added up, and all is added up anew. By a clock that
-- runs on, what was added up ends p_margin ago or earlier; by one that was set back so far that rows may be missed, later
-- than half of that, since looks are a minute apart. One does it at a time.
CREATE OR REPLACE FUNCTION public.usage_add_up(p_margin interval)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
$function$;
