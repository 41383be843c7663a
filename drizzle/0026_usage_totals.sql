CREATE TABLE "usage_progress" (
	"stored_before" timestamp with time zone PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_total" (
	"account_id" bigint NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"key_id" bigint NOT NULL,
	"model" text NOT NULL,
	"channel" text NOT NULL,
	"requests" bigint DEFAULT 0 NOT NULL,
	"failed" bigint DEFAULT 0 NOT NULL,
	"cost_nano" numeric(30, 0) NOT NULL,
	"input" bigint DEFAULT 0 NOT NULL,
	"cached" bigint DEFAULT 0 NOT NULL,
	"output" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "usage_total_account_id_at_key_id_model_channel_pk" PRIMARY KEY("account_id","at","key_id","model","channel")
);
--> statement-breakpoint
CREATE INDEX "usage_total_at" ON "usage_total" USING btree ("at");--> statement-breakpoint
INSERT INTO usage_progress (stored_before) VALUES ('-infinity');
--> statement-breakpoint
-- What one row of exchange adds. The time is that of its id, as pages ask for it.
CREATE FUNCTION usage_of(e exchange) RETURNS SETOF usage_total LANGUAGE sql STABLE AS $$
  SELECT e.account_id, to_timestamp(('x' || translate(left(e.id::text, 13), '-', ''))::bit(48)::bigint / 900000 * 900),
    e.key_id, coalesce(e.model, ''), coalesce(e.channel, ''), 1::bigint, (e.end_state <> 'complete')::integer::bigint,
    coalesce(e.cost_nano, 0)::numeric(30, 0),
    e.input_uncached + e.cache_read + e.cache_write5m + e.cache_write1h + e.audio_input, e.cache_read,
    e.output_text + e.reasoning + e.audio_output
$$;
--> statement-breakpoint
-- Adds what was stored since the last time, a day's worth at most; the result: whether there is more. What was stored
-- within p_margin is left, since something with an earlier moment may not be committed yet. One does it at a time.
CREATE FUNCTION usage_add_up(p_margin interval) RETURNS boolean LANGUAGE plpgsql AS $$
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
      sum(u.input), sum(u.cached), sum(u.output)
    FROM exchange e, usage_of(e) u WHERE e.stored_at >= v_from AND e.stored_at < v_until
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (account_id, at, key_id, model, channel) DO UPDATE SET
      requests = t.requests + excluded.requests, failed = t.failed + excluded.failed,
      cost_nano = t.cost_nano + excluded.cost_nano, input = t.input + excluded.input,
      cached = t.cached + excluded.cached, output = t.output + excluded.output;
  UPDATE usage_progress SET stored_before = v_until;
  RETURN v_until < v_last;
END
$$;
--> statement-breakpoint
-- Rows are written once, but the charge of a video comes later. The lock waits for usage_add_up, or makes it wait.
CREATE FUNCTION usage_correct() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_until timestamptz;
BEGIN
  SELECT p.stored_before INTO v_until FROM usage_progress p FOR SHARE;
  IF OLD.stored_at < v_until THEN
    UPDATE usage_total t SET requests = t.requests - u.requests, failed = t.failed - u.failed,
        cost_nano = t.cost_nano - u.cost_nano, input = t.input - u.input, cached = t.cached - u.cached,
        output = t.output - u.output
      FROM usage_of(OLD) u
      WHERE (t.account_id, t.at, t.key_id, t.model, t.channel) = (u.account_id, u.at, u.key_id, u.model, u.channel);
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.stored_at < v_until THEN
    INSERT INTO usage_total AS t SELECT * FROM usage_of(NEW)
      ON CONFLICT (account_id, at, key_id, model, channel) DO UPDATE SET
        requests = t.requests + excluded.requests, failed = t.failed + excluded.failed,
        cost_nano = t.cost_nano + excluded.cost_nano, input = t.input + excluded.input,
        cached = t.cached + excluded.cached, output = t.output + excluded.output;
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER exchange_usage AFTER UPDATE OR DELETE ON exchange FOR EACH ROW EXECUTE FUNCTION usage_correct();
