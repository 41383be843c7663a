ALTER TABLE "console_link" ADD COLUMN "made_by" bigint;--> statement-breakpoint
ALTER TABLE "console_link" ADD CONSTRAINT "console_link_made_by_console_user_id_fk" FOREIGN KEY ("made_by") REFERENCES "public"."console_user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "console_link_made_by" ON "console_link" USING btree ("made_by");