CREATE TABLE "stored_response" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"previous_id" text,
	"status" text NOT NULL,
	"background" boolean NOT NULL,
	"model" text NOT NULL,
	"input" "bytea" NOT NULL,
	"response" "bytea" NOT NULL,
	"plain_bytes" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"seen_at" timestamp with time zone,
	CONSTRAINT "stored_response_status" CHECK ("stored_response"."status" in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
	CONSTRAINT "stored_response_running" CHECK (("stored_response"."status" in ('queued', 'in_progress')) = ("stored_response"."seen_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "stored_response_events" (
	"response_id" text NOT NULL,
	"first" integer NOT NULL,
	"last" integer NOT NULL,
	"events" "bytea" NOT NULL,
	CONSTRAINT "stored_response_events_response_id_first_pk" PRIMARY KEY("response_id","first")
);
--> statement-breakpoint
ALTER TABLE "account" ADD COLUMN "store_allowed" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "store_allowed" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "stored_response_events" ADD CONSTRAINT "stored_response_events_response_id_stored_response_id_fk" FOREIGN KEY ("response_id") REFERENCES "public"."stored_response"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "stored_response_expires" ON "stored_response" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "stored_response_seen" ON "stored_response" USING btree ("seen_at") WHERE "stored_response"."seen_at" is not null;