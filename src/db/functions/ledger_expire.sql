-- Takes what is left of an expired grant (src/ledger/burn-down.ts says how much), and closes it if that was all.
CREATE OR REPLACE FUNCTION public.ledger_expire(p_id uuid, p_account bigint, p_grant uuid, p_grant_kind text, p_amount bigint, p_close boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  IF p_amount > 0 THEN
    PERFORM ledger_append(p_id, p_account, 'expiry', -p_amount, p_grant::text, NULL, NULL);
  END IF;
  IF p_close THEN
    UPDATE ledger_grant g SET closed_at = now() WHERE g.entry_id = p_grant AND g.entry_kind = p_grant_kind;
  END IF;
END
$function$;
