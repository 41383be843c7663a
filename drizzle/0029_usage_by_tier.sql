-- In the order in which usage_add_up and usage_correct take them.
SELECT stored_before FROM usage_progress FOR UPDATE;
--> statement-breakpoint
-- What was added up knows no tiers: it is added up anew, by the timer, while pages read what is not there row by row.
UPDATE usage_progress SET stored_before = '-infinity';
--> statement-breakpoint
TRUNCATE "usage_total";--> statement-breakpoint
ALTER TABLE "usage_total" ADD COLUMN "service_tier" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_total" DROP CONSTRAINT "usage_total_account_id_at_key_id_model_channel_pk";--> statement-breakpoint
ALTER TABLE "usage_total" ADD CONSTRAINT "usage_total_account_id_at_key_id_model_channel_service_tier_pk" PRIMARY KEY("account_id","at","key_id","model","channel","service_tier");
--> statement-breakpoint
CREATE OR REPLACE FUNCTION usage_of(e exchange) RETURNS SETOF usage_total LANGUAGE sql STABLE AS $$
  SELECT e.account_id, to_timestamp(('x' || translate(left(e.id::text, 13), '-', ''))::bit(48)::bigint / 900000 * 900),
    e.key_id, coalesce(e.model, ''), coalesce(e.channel, ''), 1::bigint, (e.end_state <> 'complete')::integer::bigint,
    coalesce(e.cost_nano, 0)::numeric(30, 0),
    e.input_uncached + e.cache_read + e.cache_write5m + e.cache_write1h + e.audio_input, e.cache_read,
    e.output_text + e.reasoning + e.audio_output, coalesce(e.service_tier, '')
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION usage_add_up(p_margin interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_from timestamptz;
  v_last timestamptz := now() - p_margin;
  v_until timestamptz;
BEGIN
  SELECT p.stored_before INTO v_from FROM usage_progress p FOR UPDATE;
  IF v_from = '-infinity' THEN
    SELECT coalesce(min(e.stored_at), v_last) INTO v_from FROM exchange e;
  END IF;
  v_until := least(v_last, v_from + interval '1 day');
  IF v_until <= v_from THEN
    RETURN false;
  END IF;
  INSERT INTO usage_total AS t
    SELECT u.account_id, u.at, u.key_id, u.model, u.channel, sum(u.requests), sum(u.failed), sum(u.cost_nano),
      sum(u.input), sum(u.cached), sum(u.output), u.service_tier
    FROM exchange e, usage_of(e) u WHERE e.stored_at >= v_from AND e.stored_at < v_until
    GROUP BY u.account_id, u.at, u.key_id, u.model, u.channel, u.service_tier
    ON CONFLICT (account_id, at, key_id, model, channel, service_tier) DO UPDATE SET
      requests = t.requests + excluded.requests, failed = t.failed + excluded.failed,
      cost_nano = t.cost_nano + excluded.cost_nano, input = t.input + excluded.input,
      cached = t.cached + excluded.cached, output = t.output + excluded.output;
  UPDATE usage_progress SET stored_before = v_until;
  RETURN v_until < v_last;
END
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION usage_correct() RETURNS trigger LANGUAGE plpgsql AS $$
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
$$;
