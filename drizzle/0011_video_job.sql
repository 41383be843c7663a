CREATE TABLE "video_job" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"key_id" bigint NOT NULL,
	"model" text NOT NULL,
	"called_model" text NOT NULL,
	"channel" text NOT NULL,
	"channel_format" text NOT NULL,
	"channel_key_hash" "bytea",
	"upstream_model" text NOT NULL,
	"upstream_id" text NOT NULL,
	"content" "bytea" NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"progress" integer DEFAULT 0 NOT NULL,
	"remix_of" uuid,
	"ordered_seconds" integer NOT NULL,
	"price_version" bigint NOT NULL,
	"money" text DEFAULT 'held' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"kept_until" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"deadline" timestamp with time zone NOT NULL,
	"look_at" timestamp with time zone NOT NULL,
	"leased_until" timestamp with time zone,
	CONSTRAINT "video_job_id" CHECK (get_byte(uuid_send("video_job"."id"), 6) >> 4 = 7),
	CONSTRAINT "video_job_state" CHECK ("video_job"."state" in ('queued', 'in_progress', 'completed', 'failed')),
	CONSTRAINT "video_job_money" CHECK ("video_job"."money" in ('held', 'charged', 'released')),
	CONSTRAINT "video_job_progress" CHECK ("video_job"."progress" between 0 and 100),
	CONSTRAINT "video_job_seconds" CHECK ("video_job"."ordered_seconds" >= 0)
);
--> statement-breakpoint
CREATE INDEX "video_job_account" ON "video_job" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "video_job_due" ON "video_job" USING btree ("look_at") WHERE "video_job"."money" = 'held';