CREATE TABLE "credit_notice" (
	"account_id" bigint PRIMARY KEY NOT NULL,
	"below_nano" bigint NOT NULL,
	"told_credits" bigint,
	CONSTRAINT "credit_notice_below" CHECK ("credit_notice"."below_nano" > 0)
);
--> statement-breakpoint
ALTER TABLE "credit_notice" ADD CONSTRAINT "credit_notice_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;