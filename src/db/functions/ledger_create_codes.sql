-- Makes codes, of which only the hashes are stored. p_credit_expires_at: when the credit that they bring ends.
CREATE OR REPLACE FUNCTION public.ledger_create_codes(p_hashes bytea[], p_amount bigint, p_uses integer, p_expires_at timestamp with time zone, p_credit_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  INSERT INTO redeem_code (code_hash, amount, max_uses, expires_at, credit_expires_at)
    SELECT h, p_amount, p_uses, p_expires_at, p_credit_expires_at FROM unnest(p_hashes) h
$function$;
