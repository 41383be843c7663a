ALTER TABLE "account" ADD COLUMN "close_requested_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "account_close_requested" ON "account" USING btree ("id") WHERE "account"."close_requested_at" is not null;
--> statement-breakpoint
-- Posts one entry. The same id and kind again changes nothing; neither does the same p_scope and p_key, under whatever
-- id. Money that leaves as a refund must be there, unless it is an outsider (p_scope) who tells that it has left; a refund
-- of usage is bounded by what the usage cost, however the request's id is spelled. A closed account takes no new credit:
-- only what corrects its past, and a payment that was made (p_ref names it) and is to be given back. Else as in 0002.
CREATE OR REPLACE FUNCTION ledger_post(
  p_id uuid, p_account bigint, p_kind text, p_amount bigint, p_ref text, p_reason text, p_expires_at timestamptz,
  p_scope text, p_key text
) RETURNS TABLE (entry_id uuid, posted boolean, balance bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_id uuid := p_id;
  v_ref text := p_ref;
  v_old record;
  v_wallet record;
  v_charged numeric;
  v_refunded numeric;
BEGIN
  IF p_kind NOT IN ('topup', 'refund', 'chargeback', 'trial', 'promo', 'goodwill', 'write_off', 'adjustment', 'debit', 'usage_refund') THEN
    RAISE EXCEPTION 'Entries of kind % are not posted by hand', p_kind USING ERRCODE = 'TG002';
  END IF;
  IF p_scope IS NOT NULL THEN
    INSERT INTO idempotency (scope, key, id) VALUES (p_scope, p_key, p_id) ON CONFLICT DO NOTHING;
    SELECT i.id INTO v_id FROM idempotency i WHERE i.scope = p_scope AND i.key = p_key;
  END IF;
  SELECT * INTO v_wallet FROM ledger_lock_wallet(p_account);
  SELECT e.account_id, e.amount, e.balance_after INTO v_old FROM entry e WHERE e.id = v_id AND e.kind = p_kind;
  IF FOUND THEN
    IF v_old.account_id <> p_account OR v_old.amount <> p_amount THEN
      RAISE EXCEPTION 'Entry % is there already, with another account or amount', v_id USING ERRCODE = 'TG002';
    END IF;
    RETURN QUERY SELECT v_id, false, v_wallet.credits - v_wallet.debits;
    RETURN;
  END IF;

  PERFORM FROM account a WHERE a.id = p_account AND a.status = 'closed';
  IF FOUND AND (p_kind IN ('trial', 'promo', 'goodwill') OR p_kind = 'topup' AND p_ref IS NULL) THEN
    RAISE EXCEPTION 'Account % is closed', p_account USING ERRCODE = 'TG002';
  END IF;
  IF p_expires_at <= now() THEN
    RAISE EXCEPTION 'Credit that has expired cannot be given' USING ERRCODE = 'TG002';
  END IF;
  IF p_kind = 'refund' AND p_scope IS NULL AND -p_amount > v_wallet.credits - v_wallet.debits - v_wallet.pending THEN
    RAISE EXCEPTION 'Account % has less than that to give back', p_account USING ERRCODE = 'TG002';
  END IF;
  IF p_kind = 'trial' AND EXISTS (SELECT FROM ledger_grant g WHERE g.account_id = p_account AND g.kind = 'trial') THEN
    RAISE EXCEPTION 'Account % has had its trial credit', p_account USING ERRCODE = 'TG002';
  END IF;
  IF p_kind = 'usage_refund' THEN
    v_ref := p_ref::uuid::text;
    SELECT -sum(e.amount) INTO v_charged FROM entry e
      WHERE e.id = v_ref::uuid AND e.kind IN ('usage', 'usage_trueup') AND e.account_id = p_account;
    SELECT coalesce(sum(e.amount), 0) INTO v_refunded FROM entry e WHERE e.ref = v_ref AND e.kind = 'usage_refund';
    IF v_charged IS NULL OR v_refunded + p_amount > v_charged THEN
      RAISE EXCEPTION 'Request % did not cost account % that much', p_ref, p_account USING ERRCODE = 'TG002';
    END IF;
  END IF;

  IF p_kind = 'topup' THEN
    UPDATE account a SET on_trial = false WHERE a.id = p_account AND a.on_trial;
    IF FOUND THEN
      -- Every process forgets what it knew of the account's keys (src/accounts/key-cache.ts).
      PERFORM pg_notify('tollgate_keys', 'account:' || p_account);
    END IF;
  END IF;
  RETURN QUERY SELECT v_id, true, ledger_append(v_id, p_account, p_kind, p_amount, v_ref, p_reason, p_expires_at);
END
$$;
--> statement-breakpoint
-- Each account redeems a code once, unless it is closed; the same id again tells the same.
CREATE OR REPLACE FUNCTION ledger_redeem(p_id uuid, p_hash bytea, p_account bigint)
RETURNS TABLE (result text, amount bigint, balance bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_wallet record;
  v_entry uuid;
  v_amount bigint;
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
    WHERE c.code_hash = p_hash AND c.uses < c.max_uses AND (c.expires_at IS NULL OR c.expires_at > now())
    RETURNING c.amount INTO v_amount;
  IF NOT FOUND THEN
    RETURN QUERY SELECT coalesce((SELECT CASE WHEN c.expires_at <= now() THEN 'expired' ELSE 'used_up' END
        FROM redeem_code c WHERE c.code_hash = p_hash), 'unknown'),
      0::bigint, v_wallet.credits - v_wallet.debits;
    RETURN;
  END IF;
  INSERT INTO redemption (code_hash, account_id, entry_id) VALUES (p_hash, p_account, p_id);
  RETURN QUERY SELECT 'redeemed', v_amount,
    ledger_append(p_id, p_account, 'promo', v_amount, 'redeem code ' || left(encode(p_hash, 'hex'), 16), NULL, NULL);
END
$$;
--> statement-breakpoint
-- What 0002 set for all of them, which a function that is replaced loses.
DO $$
DECLARE
  v_function regprocedure;
BEGIN
  FOREACH v_function IN ARRAY ARRAY[
    'ledger_post(uuid, bigint, text, bigint, text, text, timestamptz, text, text)'::regprocedure,
    'ledger_redeem(uuid, bytea, bigint)'::regprocedure
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
