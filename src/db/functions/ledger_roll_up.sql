-- Adds the sums of the days that are over for an hour, and before the oldest transaction that may still commit some: one
-- can wait for its standby for longer than that, or see the clock jump. Of a day that is not over, since the clock was
-- ahead and was set back, they are taken away again: more is to come.
CREATE OR REPLACE FUNCTION public.ledger_roll_up(p_now timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  v_over timestamptz := p_now - interval '1 hour';
  v_from timestamptz;
  v_rows integer;
BEGIN
  PERFORM pg_advisory_xact_lock(8390043843661231207);
  DELETE FROM daily_total d WHERE d.day >= (v_over AT TIME ZONE 'UTC')::date;
  SELECT coalesce((max(d.day) + 1)::timestamp AT TIME ZONE 'UTC', '-infinity') INTO v_from FROM daily_total d;
  v_over := least(v_over, (SELECT min(a.xact_start) FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid()));
  INSERT INTO daily_total (day, kind, entries, amount)
    SELECT (e.created_at AT TIME ZONE 'UTC')::date, e.kind, count(*), sum(e.amount) FROM entry e
      WHERE e.created_at >= v_from AND e.created_at < ledger_period_start('day', v_over)
      GROUP BY 1, 2;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END
$function$;
