-- A process begins.
CREATE OR REPLACE FUNCTION public.ledger_register(p_owner uuid, p_address text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  INSERT INTO process (id, seen, address) VALUES (p_owner, clock_timestamp(), p_address)
$function$;
