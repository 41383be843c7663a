DROP INDEX "entry_payment";--> statement-breakpoint
CREATE INDEX "entry_payment" ON "entry" USING btree ("ref") WHERE "entry"."kind" in ('topup', 'refund', 'chargeback', 'adjustment');