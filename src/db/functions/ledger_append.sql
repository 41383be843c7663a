-- Appends an entry to a wallet that is locked, with its grant if it brings credit; returns the balance. The caller has
-- checked everything else. What is given back of a request frees as much of its key's cap, if all that the request was
-- charged counts in what the key has spent by now: the cap of a month that is over frees nothing in another.
CREATE OR REPLACE FUNCTION public.ledger_append(p_id uuid, p_account bigint, p_kind text, p_amount bigint, p_ref text, p_reason text, p_expires_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_seq bigint;
  v_balance bigint;
  v_grant text;
  v_budget_key bigint;
BEGIN
  UPDATE wallet w SET credits = w.credits + greatest(p_amount, 0), debits = w.debits + greatest(-p_amount, 0),
      seq = w.seq + 1, last_entry_id = p_id
    WHERE w.account_id = p_account RETURNING w.seq, w.credits - w.debits INTO v_seq, v_balance;
  IF p_kind = 'usage_refund' THEN
    UPDATE key_budget b SET spent = greatest(0, b.spent - p_amount), unexplained = b.unexplained + greatest(0, p_amount - b.spent)
      FROM (SELECT min(e.budget_key_id) AS key_id, min(e.seq) AS first_seq FROM entry e
        WHERE e.id = p_ref::uuid AND e.kind IN ('usage', 'usage_trueup') HAVING bool_and(e.budget_key_id IS NOT NULL)) charged
      WHERE b.key_id = charged.key_id AND charged.first_seq > b.since_seq
      RETURNING b.key_id INTO v_budget_key;
  END IF;
  INSERT INTO entry (id, kind, account_id, seq, amount, balance_after, ref, reason, budget_key_id)
    VALUES (p_id, p_kind, p_account, v_seq, p_amount, v_balance, p_ref, p_reason, v_budget_key);
  IF p_amount > 0 THEN
    v_grant := CASE WHEN p_kind = 'topup' THEN 'paid' WHEN p_kind IN ('trial', 'promo', 'goodwill') THEN p_kind ELSE 'returned' END;
    INSERT INTO ledger_grant (entry_id, entry_kind, account_id, kind, amount, priority, expires_at)
      VALUES (p_id, p_kind, p_account, v_grant, p_amount, ledger_priority(v_grant), p_expires_at);
  END IF;
  RETURN v_balance;
END
$function$;
