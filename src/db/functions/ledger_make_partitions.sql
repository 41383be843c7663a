-- Makes the months that are missing, from the one before p_now to p_ahead months after it, and whatever other months
-- have entries: those of a gateway whose clock was wrong are in entry_default, where they would keep their month from
-- being made when it comes. They go there as they are. Returns how many months were new.
CREATE OR REPLACE FUNCTION public.ledger_make_partitions(p_now timestamp with time zone, p_ahead integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_month timestamp;
  v_name text;
  v_first uuid;
  v_end uuid;
  v_grants ledger_grant[];
  v_made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(8390043843661231206);
  FOREACH v_month IN ARRAY ARRAY(
    SELECT date_trunc('month', p_now AT TIME ZONE 'UTC') + make_interval(months => i) FROM generate_series(-1, p_ahead) i
    UNION
    SELECT date_trunc('month', to_timestamp(('x' || translate(left(e.id::text, 13), '-', ''))::bit(48)::bigint / 1000) AT TIME ZONE 'UTC')
      FROM entry_default e)
  LOOP
    v_name := 'entry_' || to_char(v_month, 'YYYY_MM');
    CONTINUE WHEN to_regclass(v_name) IS NOT NULL;
    v_first := ledger_first_id(v_month AT TIME ZONE 'UTC');
    v_end := ledger_first_id((v_month + interval '1 month') AT TIME ZONE 'UTC');
    EXECUTE format('CREATE TABLE %I (LIKE entry INCLUDING CONSTRAINTS INCLUDING DEFAULTS INCLUDING INDEXES)', v_name);
    EXECUTE format('CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION ledger_refuse_change()', v_name);
    IF EXISTS (SELECT FROM entry_default e WHERE e.id >= v_first AND e.id < v_end) THEN
      LOCK TABLE entry IN ACCESS EXCLUSIVE MODE;
      WITH kept AS (
        DELETE FROM ledger_grant g USING entry_default e
          WHERE e.id >= v_first AND e.id < v_end AND g.entry_id = e.id AND g.entry_kind = e.kind RETURNING g
      ) SELECT array_agg(g) INTO v_grants FROM kept;
      EXECUTE format('INSERT INTO %I SELECT * FROM entry_default WHERE id >= $1 AND id < $2', v_name) USING v_first, v_end;
      ALTER TABLE entry_default DISABLE TRIGGER entry_append_only;
      DELETE FROM entry_default WHERE id >= v_first AND id < v_end;
      ALTER TABLE entry_default ENABLE TRIGGER entry_append_only;
    END IF;
    EXECUTE format('ALTER TABLE entry ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', v_name, v_first, v_end);
    INSERT INTO ledger_grant SELECT g.* FROM unnest(v_grants) g;
    v_grants := NULL;
    v_made := v_made + 1;
  END LOOP;
  RETURN v_made;
END
$function$;
