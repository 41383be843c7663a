-- A batch of one, as one plain statement for the common case: a hold of a key without a cap, and a cost that the wallet
-- has numbers for. Everything else goes to ledger_settle_batch.
--
-- What a wallet has is read where it is locked. An update reads the row first as it was when its statement began, and
-- the checks of the table judge that reading before it is made anew: a cost that waited while its own hold was raised
-- would have taken the raised amount out of the pending one from before, which refused it.
CREATE OR REPLACE FUNCTION public.ledger_settle(p_id uuid, p_account bigint, p_key bigint, p_cost bigint, p_pico numeric)
 RETURNS TABLE(hold_id uuid, outcome text, charged bigint, overrun bigint, available bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  RETURN QUERY
    WITH locked AS (
      SELECT w.account_id, w.debits, w.pending, w.seq FROM wallet w WHERE w.account_id = p_account FOR NO KEY UPDATE
    ), closed AS (
      DELETE FROM hold h USING locked l
        WHERE h.id = p_id AND h.account_id = l.account_id AND NOT h.budgeted AND p_cost > 0
          AND l.debits <= 9223372036854775807 - p_cost
        RETURNING h.amount
    ), moved AS (
      UPDATE wallet w SET debits = l.debits + p_cost, pending = l.pending - c.amount, seq = l.seq + 1, last_entry_id = p_id
        FROM closed c, locked l WHERE w.account_id = p_account
        RETURNING w.seq, w.credits - w.debits AS balance, w.credits - w.debits + w.overdraft - w.pending AS free, c.amount
    ), posted AS (
      INSERT INTO entry (id, kind, account_id, seq, amount, balance_after, cost_pico)
        SELECT p_id, 'usage', p_account, m.seq, -p_cost, m.balance, p_pico FROM moved m
    )
    SELECT p_id, 'settled', p_cost, greatest(0, p_cost - m.amount), m.free FROM moved m;
  IF NOT FOUND THEN
    RETURN QUERY SELECT * FROM ledger_settle_batch(
      ARRAY[p_id], ARRAY[p_account], ARRAY[p_key], ARRAY[p_cost], ARRAY[p_pico]);
  END IF;
END
$function$;
