ALTER TABLE "stored_response" ADD COLUMN "item_ids" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX "stored_response_items" ON "stored_response" USING gin ("item_ids");