-- Locks the wallet of an account to the end of the transaction, and tells what stands in it.
CREATE OR REPLACE FUNCTION public.ledger_lock_wallet(p_account bigint)
 RETURNS TABLE(credits bigint, debits bigint, pending bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT w.credits, w.debits, w.pending FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'There is no account %', p_account USING ERRCODE = 'TG002';
  END IF;
END
$function$;
