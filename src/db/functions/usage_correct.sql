-- A trigger: rows are written once, but the charge of a video comes later. The lock waits for usage_add_up, or makes it
-- wait.
CREATE OR REPLACE FUNCTION public.usage_correct()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  v_until timestamptz;
BEGIN
  SELECT p.stored_before INTO v_until FROM usage_progress p FOR SHARE;
  IF OLD.stored_at < v_until THEN
    UPDATE usage_total t SET requests = t.requests - u.requests, failed = t.failed - u.failed,
        cost_nano = t.cost_nano - u.cost_nano, input = t.input - u.input, cached = t.cached - u.cached,
        output = t.output - u.output
      FROM usage_of(OLD) u
      WHERE (t.account_id, t.at, t.key_id, t.model, t.channel, t.service_tier)
        = (u.account_id, u.at, u.key_id, u.model, u.channel, u.service_tier);
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.stored_at < v_until THEN
    INSERT INTO usage_total AS t SELECT * FROM usage_of(NEW)
      ON CONFLICT (account_id, at, key_id, model, channel, service_tier) DO UPDATE SET
        requests = t.requests + excluded.requests, failed = t.failed + excluded.failed,
        cost_nano = t.cost_nano + excluded.cost_nano, input = t.input + excluded.input,
        cached = t.cached + excluded.cached, output = t.output + excluded.output;
  END IF;
  RETURN NULL;
END
$function$;
