CREATE TABLE "price_version" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "price_version_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"model_id" text NOT NULL,
	"rates" jsonb,
	"valid_from" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"source" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "price_version_rates" CHECK (jsonb_typeof("price_version"."rates") = 'object'),
	CONSTRAINT "price_version_source" CHECK ("price_version"."source" in ('file', 'cli', 'console', 'default'))
);
--> statement-breakpoint
CREATE INDEX "price_version_model" ON "price_version" USING btree ("model_id","valid_from","id");--> statement-breakpoint
CREATE TRIGGER price_version_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_version EXECUTE FUNCTION ledger_refuse_change();
