-- Adds the sums of the days that are over (for an hour, so that whatever began in them has committed).
CREATE OR REPLACE FUNCTION public.ledger_roll_up(p_now timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;
