-- The wallet of a new account, and its first credit if there is any. In the transaction that inserts the account.
CREATE OR REPLACE FUNCTION public.ledger_open_account(p_account bigint, p_amount bigint, p_kind text)
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
  INSERT INTO wallet (account_id) VALUES (p_account);
  IF p_amount > 0 THEN
    PERFORM ledger_append(ledger_new_id(), p_account, p_kind, p_amount, NULL, 'opening credit', NULL);
  END IF;
END
$function$;
