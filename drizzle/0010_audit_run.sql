CREATE TABLE "audit_run" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_run_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"started_at" timestamp with time zone NOT NULL,
	"ms" integer NOT NULL,
	"by" text,
	"full" boolean NOT NULL,
	"ok" boolean NOT NULL,
	"checks" jsonb NOT NULL,
	"suspended" bigint[] DEFAULT '{}' NOT NULL
);
--> statement-breakpoint
CREATE INDEX "audit_run_started_at" ON "audit_run" USING btree ("started_at");