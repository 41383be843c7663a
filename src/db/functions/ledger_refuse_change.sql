-- A trigger: what is append-only stays as it is.
CREATE OR REPLACE FUNCTION public.ledger_refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  RAISE EXCEPTION '% is append-only: no %', tg_table_name, lower(tg_op) USING ERRCODE = 'TG004';
END
$function$;
