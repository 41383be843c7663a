CREATE TABLE "idempotent_chunk" (
	"run_id" uuid NOT NULL,
	"seq" integer NOT NULL,
	"content" "bytea" NOT NULL,
	"ending" text,
	CONSTRAINT "idempotent_chunk_run_id_seq_pk" PRIMARY KEY("run_id","seq"),
	CONSTRAINT "idempotent_chunk_ending" CHECK ("idempotent_chunk"."ending" in ('closed', 'broken'))
);
--> statement-breakpoint
CREATE TABLE "idempotent_run" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"state" text DEFAULT 'running' NOT NULL,
	"leased_until" timestamp with time zone NOT NULL,
	"status" integer,
	"headers" jsonb,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotent_run_state" CHECK ("idempotent_run"."state" in ('running', 'complete', 'unkept', 'failed')),
	CONSTRAINT "idempotent_run_fingerprint" CHECK (octet_length("idempotent_run"."fingerprint") = 32),
	CONSTRAINT "idempotent_run_complete" CHECK ("idempotent_run"."state" <> 'complete' or "idempotent_run"."status" is not null)
);
--> statement-breakpoint
ALTER TABLE "idempotent_chunk" ADD CONSTRAINT "idempotent_chunk_run_id_idempotent_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."idempotent_run"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "idempotent_run_key" ON "idempotent_run" USING btree ("account_id","key") WHERE "idempotent_run"."state" <> 'failed';--> statement-breakpoint
CREATE INDEX "idempotent_run_due" ON "idempotent_run" USING btree ("expires_at");