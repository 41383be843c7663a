CREATE TABLE "admin_act" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "admin_act_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"user_id" bigint,
	"email" text NOT NULL,
	"action" text NOT NULL,
	"target" text NOT NULL,
	"before" jsonb,
	"after" jsonb,
	"ip" text
);
--> statement-breakpoint
CREATE TABLE "console_link" (
	"token_hash" "bytea" PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"email" text,
	"role" text,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone,
	CONSTRAINT "console_link_hash_length" CHECK (octet_length("console_link"."token_hash") = 32),
	CONSTRAINT "console_link_kind" CHECK ("console_link"."kind" in ('first_owner', 'invite', 'password_reset', 'signup')),
	CONSTRAINT "console_link_email_lower" CHECK ("console_link"."email" = lower("console_link"."email")),
	CONSTRAINT "console_link_email" CHECK (("console_link"."kind" = 'first_owner') = ("console_link"."email" is null)),
	CONSTRAINT "console_link_role" CHECK ("console_link"."role" in ('read_only', 'admin', 'owner'))
);
--> statement-breakpoint
CREATE TABLE "console_session" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "console_session_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"token_hash" "bytea" NOT NULL,
	"user_id" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"ip" text,
	"agent" text NOT NULL,
	CONSTRAINT "console_session_tokenHash_unique" UNIQUE("token_hash"),
	CONSTRAINT "console_session_hash_length" CHECK (octet_length("console_session"."token_hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "console_user" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "console_user_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"email" text NOT NULL,
	"password_hash" text NOT NULL,
	"role" text,
	"account_id" bigint NOT NULL,
	"totp_secret" "bytea",
	"totp_pending" "bytea",
	"totp_step" bigint DEFAULT 0 NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone,
	"reset_requested_at" timestamp with time zone,
	CONSTRAINT "console_user_email_unique" UNIQUE("email"),
	CONSTRAINT "console_user_accountId_unique" UNIQUE("account_id"),
	CONSTRAINT "console_user_email_lower" CHECK ("console_user"."email" = lower("console_user"."email")),
	CONSTRAINT "console_user_role" CHECK ("console_user"."role" in ('read_only', 'admin', 'owner')),
	CONSTRAINT "console_user_status" CHECK ("console_user"."status" in ('active', 'disabled'))
);
--> statement-breakpoint
CREATE TABLE "recovery_code" (
	"user_id" bigint NOT NULL,
	"code_hash" "bytea" NOT NULL,
	CONSTRAINT "recovery_code_user_id_code_hash_pk" PRIMARY KEY("user_id","code_hash")
);
--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "hidden" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "exchange" ADD COLUMN "stored_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "console_session" ADD CONSTRAINT "console_session_user_id_console_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."console_user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "console_user" ADD CONSTRAINT "console_user_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recovery_code" ADD CONSTRAINT "recovery_code_user_id_console_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."console_user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "admin_act_user" ON "admin_act" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "admin_act_action" ON "admin_act" USING btree ("action","id");--> statement-breakpoint
CREATE INDEX "admin_act_target" ON "admin_act" USING btree ("target","id");--> statement-breakpoint
CREATE INDEX "console_link_email" ON "console_link" USING btree ("email");--> statement-breakpoint
CREATE INDEX "console_session_user" ON "console_session" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "console_user_role" ON "console_user" USING btree ("role") WHERE "console_user"."role" is not null;--> statement-breakpoint
CREATE INDEX "exchange_stored_at" ON "exchange" USING brin ("stored_at") WITH (pages_per_range=16,autosummarize=true);--> statement-breakpoint
CREATE TRIGGER admin_act_append_only BEFORE UPDATE OR DELETE ON admin_act FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint
CREATE TRIGGER admin_act_no_truncate BEFORE TRUNCATE ON admin_act EXECUTE FUNCTION ledger_refuse_change();
