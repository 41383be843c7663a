CREATE TABLE "audit_checkpoint" (
	"account_id" bigint PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"credits" bigint NOT NULL,
	"debits" bigint NOT NULL,
	"audited_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "daily_total" (
	"day" date NOT NULL,
	"kind" text NOT NULL,
	"entries" bigint NOT NULL,
	"amount" bigint NOT NULL,
	CONSTRAINT "daily_total_day_kind_pk" PRIMARY KEY("day","kind")
);
--> statement-breakpoint
CREATE TABLE "entry" (
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"account_id" bigint NOT NULL,
	"seq" bigint NOT NULL,
	"amount" bigint NOT NULL,
	"balance_after" bigint NOT NULL,
	"cost_pico" numeric(30, 0),
	"ref" text,
	"reason" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "entry_id_kind_pk" PRIMARY KEY("id","kind"),
	CONSTRAINT "entry_id" CHECK (get_byte(uuid_send("entry"."id"), 6) >> 4 = 7),
	CONSTRAINT "entry_kind" CHECK ("entry"."kind" in ('usage', 'usage_trueup', 'usage_refund', 'topup', 'refund', 'chargeback', 'trial', 'promo',
        'goodwill', 'expiry', 'write_off', 'adjustment', 'debit')),
	CONSTRAINT "entry_sign" CHECK ("entry"."amount" <> 0 and case
        when "entry"."kind" in ('usage', 'refund', 'expiry', 'debit') then "entry"."amount" < 0
        when "entry"."kind" in ('usage_refund', 'topup', 'trial', 'promo', 'goodwill', 'write_off') then "entry"."amount" > 0
        else true end),
	CONSTRAINT "entry_cost" CHECK ("entry"."kind" <> 'usage' or ("entry"."cost_pico" is not null and "entry"."amount" = -ceil("entry"."cost_pico" / 1000))),
	CONSTRAINT "entry_ref" CHECK ("entry"."kind" not in ('usage_refund', 'expiry') or "entry"."ref" is not null),
	CONSTRAINT "entry_reason" CHECK ("entry"."kind" not in ('chargeback', 'adjustment', 'debit', 'write_off') or coalesce("entry"."reason", '') <> '')
) PARTITION BY RANGE ("id"); -- by hand: drizzle cannot say it
--> statement-breakpoint
CREATE TABLE "process" (
	"id" uuid PRIMARY KEY NOT NULL,
	"seen" timestamp with time zone DEFAULT now() NOT NULL,
	"address" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "hold" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"key_id" bigint NOT NULL,
	"owner" uuid NOT NULL,
	"amount" bigint NOT NULL,
	"progress" bigint DEFAULT 0 NOT NULL,
	"price_version" bigint NOT NULL,
	"budgeted" boolean NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deadline" timestamp with time zone NOT NULL,
	CONSTRAINT "hold_id" CHECK (get_byte(uuid_send("hold"."id"), 6) >> 4 = 7),
	CONSTRAINT "hold_amount" CHECK ("hold"."amount" > 0),
	CONSTRAINT "hold_progress" CHECK ("hold"."progress" >= 0)
);
--> statement-breakpoint
CREATE TABLE "idempotency" (
	"scope" text NOT NULL,
	"key" text NOT NULL,
	"id" uuid NOT NULL,
	CONSTRAINT "idempotency_scope_key_pk" PRIMARY KEY("scope","key")
);
--> statement-breakpoint
CREATE TABLE "key_budget" (
	"key_id" bigint PRIMARY KEY NOT NULL,
	"period" text NOT NULL,
	"period_start" timestamp with time zone NOT NULL,
	"spent" bigint DEFAULT 0 NOT NULL,
	"pending" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "key_budget_counters" CHECK ("key_budget"."spent" >= 0 and "key_budget"."pending" >= 0)
);
--> statement-breakpoint
CREATE TABLE "ledger_grant" (
	"entry_id" uuid NOT NULL,
	"entry_kind" text NOT NULL,
	"account_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"amount" bigint NOT NULL,
	"priority" integer NOT NULL,
	"expires_at" timestamp with time zone,
	"closed_at" timestamp with time zone,
	CONSTRAINT "ledger_grant_entry_id_entry_kind_pk" PRIMARY KEY("entry_id","entry_kind"),
	CONSTRAINT "ledger_grant_kind" CHECK ("ledger_grant"."kind" in ('trial', 'promo', 'goodwill', 'returned', 'paid')),
	CONSTRAINT "ledger_grant_amount" CHECK ("ledger_grant"."amount" > 0)
);
--> statement-breakpoint
CREATE TABLE "redeem_code" (
	"code_hash" "bytea" PRIMARY KEY NOT NULL,
	"amount" bigint NOT NULL,
	"max_uses" integer NOT NULL,
	"uses" integer DEFAULT 0 NOT NULL,
	"expires_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "redeem_code_hash_length" CHECK (octet_length("redeem_code"."code_hash") = 32),
	CONSTRAINT "redeem_code_amount" CHECK ("redeem_code"."amount" > 0),
	CONSTRAINT "redeem_code_uses" CHECK ("redeem_code"."uses" between 0 and "redeem_code"."max_uses")
);
--> statement-breakpoint
CREATE TABLE "redemption" (
	"code_hash" "bytea" NOT NULL,
	"account_id" bigint NOT NULL,
	"entry_id" uuid NOT NULL,
	CONSTRAINT "redemption_code_hash_account_id_pk" PRIMARY KEY("code_hash","account_id")
);
--> statement-breakpoint
CREATE TABLE "wallet" (
	"account_id" bigint PRIMARY KEY NOT NULL,
	"credits" bigint DEFAULT 0 NOT NULL,
	"debits" bigint DEFAULT 0 NOT NULL,
	"pending" bigint DEFAULT 0 NOT NULL,
	"overdraft" bigint DEFAULT 0 NOT NULL,
	"seq" bigint DEFAULT 0 NOT NULL,
	"last_entry_id" uuid,
	CONSTRAINT "wallet_monotone" CHECK ("wallet"."credits" >= 0 and "wallet"."debits" >= 0 and "wallet"."seq" >= 0),
	CONSTRAINT "wallet_pending" CHECK ("wallet"."pending" >= 0),
	CONSTRAINT "wallet_overdraft" CHECK ("wallet"."overdraft" >= 0)
);
--> statement-breakpoint
ALTER TABLE "key_budget" ADD CONSTRAINT "key_budget_key_id_api_key_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."api_key"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ledger_grant" ADD CONSTRAINT "ledger_grant_entry_id_entry_kind_entry_id_kind_fk" FOREIGN KEY ("entry_id","entry_kind") REFERENCES "public"."entry"("id","kind") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "redemption" ADD CONSTRAINT "redemption_code_hash_redeem_code_code_hash_fk" FOREIGN KEY ("code_hash") REFERENCES "public"."redeem_code"("code_hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallet" ADD CONSTRAINT "wallet_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "entry_account_seq" ON "entry" USING btree ("account_id","seq");--> statement-breakpoint
CREATE INDEX "entry_refund_of" ON "entry" USING btree ("ref") WHERE "entry"."kind" = 'usage_refund';--> statement-breakpoint
CREATE INDEX "entry_created_at" ON "entry" USING brin ("created_at");--> statement-breakpoint
CREATE INDEX "hold_owner" ON "hold" USING btree ("owner");--> statement-breakpoint
CREATE INDEX "hold_account" ON "hold" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "ledger_grant_account" ON "ledger_grant" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "ledger_grant_due" ON "ledger_grant" USING btree ("expires_at") WHERE "ledger_grant"."closed_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "ledger_grant_trial" ON "ledger_grant" USING btree ("account_id") WHERE "ledger_grant"."kind" = 'trial';