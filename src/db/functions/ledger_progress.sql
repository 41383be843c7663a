-- Notes what exchanges have cost so far. Returns those that must not go on: holds that are gone, and open ones of the
-- caller whose key or account was stopped. Waits for nobody: a hold that is being changed keeps its last checkpoint.
CREATE OR REPLACE FUNCTION public.ledger_progress(p_owner uuid, p_ids uuid[], p_costs bigint[])
 RETURNS TABLE(hold_id uuid, reason text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  WITH advanced AS (
    SELECT h.id, q.cost FROM unnest(p_ids, p_costs) AS q(id, cost) JOIN hold h ON h.id = q.id
      WHERE h.progress < q.cost FOR NO KEY UPDATE OF h SKIP LOCKED
  )
  UPDATE hold h SET progress = a.cost FROM advanced a WHERE h.id = a.id;
  RETURN QUERY
    SELECT q.id, 'hold_expired' FROM unnest(p_ids) AS q(id) WHERE NOT EXISTS (SELECT FROM hold h WHERE h.id = q.id)
    UNION ALL
    SELECT h.id, CASE WHEN a.status = 'active' THEN 'key_revoked' ELSE 'account_suspended' END
      FROM hold h JOIN account a ON a.id = h.account_id JOIN api_key k ON k.id = h.key_id
      WHERE h.owner = p_owner AND (a.status <> 'active' OR k.status <> 'active');
END
$function$;
