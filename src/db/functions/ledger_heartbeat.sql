-- Says that a process is alive. How many are, the caller included; 0 if it was taken for dead.
CREATE OR REPLACE FUNCTION public.ledger_heartbeat(p_owner uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  UPDATE process p SET seen = clock_timestamp() WHERE p.id = p_owner;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  RETURN (SELECT count(*) FROM process);
END
$function$;
