-- Each account redeems a code once, unless it is closed; the same id again tells the same. A code whose credit has
-- ended has expired. One that was taken back gives nothing more.
CREATE OR REPLACE FUNCTION public.ledger_redeem(p_id uuid, p_hash bytea, p_account bigint)
 RETURNS TABLE(result text, amount bigint, balance bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_wallet record;
  v_entry uuid;
  v_code record;
BEGIN
  SELECT * INTO v_wallet FROM ledger_lock_wallet(p_account);
  SELECT d.entry_id INTO v_entry FROM redemption d WHERE d.code_hash = p_hash AND d.account_id = p_account;
  IF FOUND THEN
    RETURN QUERY SELECT CASE WHEN v_entry = p_id THEN 'redeemed' ELSE 'already_redeemed' END, c.amount,
      v_wallet.credits - v_wallet.debits FROM redeem_code c WHERE c.code_hash = p_hash;
    RETURN;
  END IF;
  PERFORM FROM account a WHERE a.id = p_account AND a.status = 'closed';
  IF FOUND THEN
    RAISE EXCEPTION 'Account % is closed', p_account USING ERRCODE = 'TG002';
  END IF;
  UPDATE redeem_code c SET uses = c.uses + 1
    WHERE c.code_hash = p_hash AND c.uses < c.max_uses AND c.revoked_at IS NULL
      AND coalesce(least(c.expires_at, c.credit_expires_at) > now(), true)
    RETURNING c.amount, c.credit_expires_at INTO v_code;
  IF NOT FOUND THEN
    RETURN QUERY SELECT coalesce((SELECT CASE WHEN c.revoked_at IS NOT NULL THEN 'revoked'
        WHEN least(c.expires_at, c.credit_expires_at) <= now() THEN 'expired' ELSE 'used_up' END
        FROM redeem_code c WHERE c.code_hash = p_hash), 'unknown'),
      0::bigint, v_wallet.credits - v_wallet.debits;
    RETURN;
  END IF;
  INSERT INTO redemption (code_hash, account_id, entry_id) VALUES (p_hash, p_account, p_id);
  RETURN QUERY SELECT 'redeemed', v_code.amount, ledger_append(
    p_id, p_account, 'promo', v_code.amount, 'redeem code ' || left(encode(p_hash, 'hex'), 16), NULL, v_code.credit_expires_at);
END
$function$;
