-- Ends holds at what their exchanges cost: see ledger_close.
CREATE OR REPLACE FUNCTION public.ledger_settle_batch(p_ids uuid[], p_accounts bigint[], p_keys bigint[], p_costs bigint[], p_picos numeric[])
 RETURNS TABLE(hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  SELECT * FROM ledger_close(p_ids, p_accounts, p_keys, p_costs, p_picos, false)
$function$;
