-- Holds of work that outlives the process that began it (video_job). Their owner is no process: the reaper leaves them
-- alone, whatever their deadline, and the audit asks for the job that answers for each.

CREATE FUNCTION ledger_job_owner() RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT '00000000-0000-7000-8000-000000000001'::uuid
$$;
--> statement-breakpoint
-- Hands a hold to the job that its exchange began, in the transaction that stores the job. False: it is gone, since its
-- process was taken for dead; what the job costs is then posted as a correction.
CREATE FUNCTION ledger_entrust(p_id uuid, p_account bigint, p_deadline timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hold h SET owner = ledger_job_owner(), deadline = p_deadline WHERE h.id = p_id AND h.account_id = p_account;
  RETURN FOUND;
END
$$;
--> statement-breakpoint
-- Settles at their progress the holds whose process is dead or whose deadline has passed, at most p_limit of them.
-- Those of jobs are not among them.
CREATE OR REPLACE FUNCTION ledger_reap(p_dead_after bigint, p_limit integer)
RETURNS TABLE (hold_id uuid, account_id bigint, charged bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_dead uuid[];
  v_ids uuid[];
  v_accounts bigint[];
  v_keys bigint[];
BEGIN
  SELECT array_agg(d.id) INTO v_dead FROM (
    SELECT p.id FROM process p WHERE p.seen < clock_timestamp() - p_dead_after * interval '1 millisecond'
      ORDER BY p.id FOR UPDATE SKIP LOCKED) d;
  -- Holds are not locked here: their wallets come first, and who else ends one of them is found by ledger_close.
  SELECT array_agg(o.id), array_agg(o.account_id), array_agg(o.key_id) INTO v_ids, v_accounts, v_keys FROM (
    SELECT h.id, h.account_id, h.key_id FROM hold h
      WHERE h.owner <> ledger_job_owner() AND (h.owner = ANY (v_dead) OR h.deadline < clock_timestamp()
        OR NOT EXISTS (SELECT FROM process p WHERE p.id = h.owner))
      ORDER BY h.id LIMIT p_limit) o;
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
$$;
