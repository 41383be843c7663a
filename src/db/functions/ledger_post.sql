-- Posts one entry. The same id and kind again changes nothing; neither does the same p_scope and p_key, under whatever
-- id. Money that leaves as a refund must be there, unless it is an outsider (p_scope) who tells that it has left; a
-- refund of usage is bounded by what the usage cost, however the request's id is spelled. A closed account takes no new
-- credit: only what corrects its past, and a payment that was made (p_ref names it) and is to be given back.
CREATE OR REPLACE FUNCTION public.ledger_post(p_id uuid, p_account bigint, p_kind text, p_amount bigint, p_ref text, p_reason text, p_expires_at timestamp with time zone, p_scope text, p_key text)
 RETURNS TABLE(entry_id uuid, posted boolean, balance bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
$function$;
