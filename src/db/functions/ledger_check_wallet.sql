-- The second net, as a trigger at commit: whatever moved in a wallet is explained by its last entry, and its counters
-- only grow.
CREATE OR REPLACE FUNCTION public.ledger_check_wallet()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  IF tg_op = 'UPDATE' AND (NEW.account_id <> OLD.account_id OR NEW.seq <= OLD.seq
      OR NEW.credits < OLD.credits OR NEW.debits < OLD.debits) THEN
    RAISE EXCEPTION 'the counters of wallet % only grow, and together', NEW.account_id USING ERRCODE = 'TG003';
  END IF;
  PERFORM FROM entry e WHERE e.id = NEW.last_entry_id AND e.account_id = NEW.account_id AND e.seq = NEW.seq
    AND e.balance_after = NEW.credits - NEW.debits;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'wallet % has no entry % with the balance %', NEW.account_id, NEW.seq, NEW.credits - NEW.debits
      USING ERRCODE = 'TG003';
  END IF;
  RETURN NULL;
END
$function$;
