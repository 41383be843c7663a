ALTER TABLE "redeem_code" ADD COLUMN "revoked_at" timestamp with time zone;--> statement-breakpoint
-- Each account redeems a code once, unless it is closed; the same id again tells the same. A code whose credit has ended
-- has expired. What was taken back gives nothing more.
CREATE OR REPLACE FUNCTION ledger_redeem(p_id uuid, p_hash bytea, p_account bigint)
RETURNS TABLE (result text, amount bigint, balance bigint)
LANGUAGE plpgsql AS $$
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
$$;
--> statement-breakpoint
-- Takes back the uses that are left of a code, and tells whether there were any to take back.
CREATE FUNCTION ledger_revoke_code(p_hash bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE redeem_code SET revoked_at = now() WHERE code_hash = p_hash AND uses < max_uses AND revoked_at IS NULL;
  RETURN FOUND;
END
$$;
--> statement-breakpoint
-- What 0002 set for all of them, which a function that is made anew or replaced lacks.
DO $$
DECLARE
  v_function regprocedure;
BEGIN
  FOREACH v_function IN ARRAY ARRAY[
    'ledger_redeem(uuid, bytea, bigint)'::regprocedure,
    'ledger_revoke_code(bytea)'::regprocedure
  ] LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v_function, current_schema());
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_hashjoin = off', v_function);
    EXECUTE format('ALTER FUNCTION %s SET enable_mergejoin = off', v_function);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
  END LOOP;
END
$$;
