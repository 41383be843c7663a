-- Brings budgets whose period is still to come, since the clock was set back, to the one that runs. What they have
-- spent stays spent. Else they would begin no new one before that period is over.
CREATE OR REPLACE FUNCTION public.ledger_return_budgets()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_returned integer;
BEGIN
  WITH ahead AS (
    SELECT b.key_id FROM key_budget b WHERE b.period_start > now() ORDER BY b.key_id FOR NO KEY UPDATE
  )
  UPDATE key_budget b SET period_start = ledger_period_start(b.period, now()) FROM ahead a
    WHERE b.key_id = a.key_id AND b.period_start > now();
  GET DIAGNOSTICS v_returned = ROW_COUNT;
  RETURN v_returned;
END
$function$;
