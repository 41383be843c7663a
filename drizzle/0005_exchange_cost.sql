ALTER TABLE "exchange" ADD COLUMN "price_version" bigint;--> statement-breakpoint
ALTER TABLE "exchange" ADD COLUMN "cost_nano" bigint;--> statement-breakpoint
ALTER TABLE "exchange" ADD COLUMN "cost_pico" numeric(30, 0);