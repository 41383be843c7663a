-- Takes back the uses that are left of a code, and tells whether there were any to take back.
CREATE OR REPLACE FUNCTION public.ledger_revoke_code(p_hash bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  UPDATE redeem_code SET revoked_at = now() WHERE code_hash = p_hash AND uses < max_uses AND revoked_at IS NULL;
  RETURN FOUND;
END
$function$;
