-- What accounts had before there was a ledger becomes their first entry.
SELECT ledger_open_account("id", "credit_nano", CASE WHEN "on_trial" THEN 'trial' ELSE 'topup' END) FROM "account" ORDER BY "id";
--> statement-breakpoint
SET CONSTRAINTS ALL IMMEDIATE;
--> statement-breakpoint
ALTER TABLE "account" DROP COLUMN "credit_nano";
