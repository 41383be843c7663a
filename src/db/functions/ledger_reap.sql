-- Settles at their progress the holds whose process is dead or whose deadline has passed, at most p_limit of them;
-- those of jobs are not among them. Between the moment that the reaper finds a hold without an owner and its turn at
-- the wallet, another reaper may end that hold and its process, back from a pause, open it anew; or it is entrusted to
-- a job. So it is asked again under the lock.
CREATE OR REPLACE FUNCTION public.ledger_reap(p_dead_after bigint, p_limit integer)
 RETURNS TABLE(hold_id uuid, account_id bigint, charged bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_dead uuid[];
  v_ids uuid[];
  v_accounts bigint[];
  v_keys bigint[];
BEGIN
  SELECT array_agg(d.id) INTO v_dead FROM (
    SELECT p.id FROM process p WHERE p.seen < clock_timestamp() - p_dead_after * interval '1 millisecond'
      ORDER BY p.id FOR UPDATE SKIP LOCKED) d;
  SELECT array_agg(o.id), array_agg(o.account_id) INTO v_ids, v_accounts FROM (
    SELECT h.id, h.account_id FROM hold h
      WHERE h.owner <> ledger_job_owner() AND (h.owner = ANY (v_dead) OR h.deadline < clock_timestamp()
        OR NOT EXISTS (SELECT FROM process p WHERE p.id = h.owner))
      ORDER BY h.id LIMIT p_limit) o;
  IF v_ids IS NOT NULL THEN
    PERFORM FROM wallet w WHERE w.account_id = ANY (v_accounts) ORDER BY w.account_id FOR NO KEY UPDATE;
    SELECT array_agg(h.id), array_agg(h.account_id), array_agg(h.key_id) INTO v_ids, v_accounts, v_keys FROM hold h
      WHERE h.id = ANY (v_ids) AND h.owner <> ledger_job_owner() AND (h.owner = ANY (v_dead) OR h.deadline < clock_timestamp()
        OR NOT EXISTS (SELECT FROM process p WHERE p.id = h.owner));
  END IF;
  IF v_ids IS NOT NULL THEN
    RETURN QUERY
      SELECT c.hold_id, q.account_id, c.charged
        FROM ledger_close(v_ids, v_accounts, v_keys, array_fill(0::bigint, ARRAY[cardinality(v_ids)]),
          array_fill(0::numeric, ARRAY[cardinality(v_ids)]), true) c
        JOIN unnest(v_ids, v_accounts) AS q(id, account_id) ON q.id = c.hold_id
        WHERE c.outcome = 'settled';
  END IF;
  DELETE FROM process p WHERE p.id = ANY (v_dead) AND NOT EXISTS (SELECT FROM hold h WHERE h.owner = p.id);
END
$function$;
