CREATE TABLE "account" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "account_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"email" text NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"credit_nano" bigint DEFAULT 0 NOT NULL,
	"on_trial" boolean DEFAULT true NOT NULL,
	"requests_per_minute" bigint,
	"tokens_per_minute" bigint,
	"concurrent_requests" bigint,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_email_unique" UNIQUE("email"),
	CONSTRAINT "account_email_lower" CHECK ("account"."email" = lower("account"."email")),
	CONSTRAINT "account_status" CHECK ("account"."status" in ('active', 'suspended', 'closed'))
);
--> statement-breakpoint
CREATE TABLE "account_model" (
	"account_id" bigint NOT NULL,
	"model_id" text NOT NULL,
	CONSTRAINT "account_model_account_id_model_id_pk" PRIMARY KEY("account_id","model_id")
);
--> statement-breakpoint
CREATE TABLE "api_key" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "api_key_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"name" text DEFAULT '' NOT NULL,
	"lookup" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"models" text[],
	"expires_at" timestamp with time zone,
	"allow_ips" text[],
	"cap_nano" bigint,
	"cap_period" text,
	"requests_per_minute" bigint,
	"tokens_per_minute" bigint,
	"concurrent_requests" bigint,
	"status" text DEFAULT 'active' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "api_key_lookup_unique" UNIQUE("lookup"),
	CONSTRAINT "api_key_hash_unique" UNIQUE("hash"),
	CONSTRAINT "api_key_hash_length" CHECK (octet_length("api_key"."hash") = 32),
	CONSTRAINT "api_key_status" CHECK ("api_key"."status" in ('active', 'revoked')),
	CONSTRAINT "api_key_revoked" CHECK (("api_key"."status" = 'revoked') = ("api_key"."revoked_at" is not null)),
	CONSTRAINT "api_key_cap" CHECK (("api_key"."cap_nano" is null) = ("api_key"."cap_period" is null) and "api_key"."cap_nano" >= 0),
	CONSTRAINT "api_key_cap_period" CHECK ("api_key"."cap_period" in ('day', 'week', 'month', 'total'))
);
--> statement-breakpoint
CREATE TABLE "channel" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "channel_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"format" text NOT NULL,
	"base_url" text NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"weight" integer DEFAULT 1 NOT NULL,
	"headers" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"timeouts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"max_concurrent" integer,
	"function_tools_only" boolean DEFAULT false NOT NULL,
	"allow_private" boolean DEFAULT false NOT NULL,
	"source" text NOT NULL,
	CONSTRAINT "channel_name_unique" UNIQUE("name"),
	CONSTRAINT "channel_source" CHECK ("channel"."source" in ('file', 'cli', 'console', 'default'))
);
--> statement-breakpoint
CREATE TABLE "channel_key" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "channel_key_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"channel_id" bigint NOT NULL,
	"ciphertext" "bytea" NOT NULL,
	"position" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "exchange" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"key_id" bigint NOT NULL,
	"model" text,
	"channel" text,
	"channel_format" text,
	"surface" text NOT NULL,
	"streamed" boolean NOT NULL,
	"input_uncached" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write5m" bigint DEFAULT 0 NOT NULL,
	"cache_write1h" bigint DEFAULT 0 NOT NULL,
	"output_text" bigint DEFAULT 0 NOT NULL,
	"reasoning" bigint DEFAULT 0 NOT NULL,
	"audio_input" bigint DEFAULT 0 NOT NULL,
	"audio_output" bigint DEFAULT 0 NOT NULL,
	"server_tools" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"usage_source" text NOT NULL,
	"status" integer NOT NULL,
	"end_state" text NOT NULL,
	"error_code" text,
	"started_at" timestamp with time zone NOT NULL,
	"first_byte_ms" integer,
	"total_ms" integer NOT NULL,
	"attempts" integer NOT NULL,
	"losses" text[] DEFAULT '{}' NOT NULL,
	CONSTRAINT "exchange_usage_source" CHECK ("exchange"."usage_source" in ('reported', 'estimated', 'missing')),
	CONSTRAINT "exchange_end_state" CHECK ("exchange"."end_state" in ('complete', 'client_gone', 'upstream_cut', 'upstream_error', 'stalled', 'refused'))
);
--> statement-breakpoint
CREATE TABLE "model" (
	"id" text PRIMARY KEY NOT NULL,
	"display_name" text NOT NULL,
	"owned_by" text NOT NULL,
	"surfaces" text[],
	"enabled_by_default" boolean DEFAULT true NOT NULL,
	"context_tokens" integer,
	"max_output_tokens" integer,
	"prices" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"source" text NOT NULL,
	CONSTRAINT "model_source" CHECK ("model"."source" in ('file', 'cli', 'console', 'default'))
);
--> statement-breakpoint
CREATE TABLE "model_alias" (
	"alias" text PRIMARY KEY NOT NULL,
	"model_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "model_channel" (
	"model_id" text NOT NULL,
	"channel_id" bigint NOT NULL,
	"upstream_model" text NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"weight" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "model_channel_model_id_channel_id_upstream_model_pk" PRIMARY KEY("model_id","channel_id","upstream_model")
);
--> statement-breakpoint
CREATE TABLE "setting" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "account_model" ADD CONSTRAINT "account_model_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "account_model" ADD CONSTRAINT "account_model_model_id_model_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."model"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_key" ADD CONSTRAINT "channel_key_channel_id_channel_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channel"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "model_alias" ADD CONSTRAINT "model_alias_model_id_model_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."model"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "model_channel" ADD CONSTRAINT "model_channel_model_id_model_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."model"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "model_channel" ADD CONSTRAINT "model_channel_channel_id_channel_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channel"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "account_model_model" ON "account_model" USING btree ("model_id");--> statement-breakpoint
CREATE INDEX "api_key_account" ON "api_key" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "channel_key_channel" ON "channel_key" USING btree ("channel_id");--> statement-breakpoint
CREATE INDEX "exchange_account" ON "exchange" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "model_alias_model" ON "model_alias" USING btree ("model_id");--> statement-breakpoint
CREATE INDEX "model_channel_channel" ON "model_channel" USING btree ("channel_id");