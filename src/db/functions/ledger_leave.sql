-- A process that has ended its work says so: it will not be waited for.
CREATE OR REPLACE FUNCTION public.ledger_leave(p_owner uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  DELETE FROM process p WHERE p.id = p_owner
$function$;
