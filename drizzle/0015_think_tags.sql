ALTER TABLE "channel" ADD COLUMN "think_tags" text;--> statement-breakpoint
ALTER TABLE "channel" ADD CONSTRAINT "channel_think_tags" CHECK ("channel"."think_tags" in ('both', 'closing'));