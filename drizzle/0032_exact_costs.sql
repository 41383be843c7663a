-- A quotient of numeric has some 16 digits: a cost of more than ten million units of the currency (400 dollars' worth of
-- dong) was rounded down by the check where it had been rounded up, and the charge refused. div() is exact. All entries
-- are read once.
ALTER TABLE "entry" DROP CONSTRAINT "entry_cost";--> statement-breakpoint
ALTER TABLE "entry" ADD CONSTRAINT "entry_cost" CHECK ("kind" <> 'usage' or ("cost_pico" is not null and "amount" = -div("cost_pico" + 999, 1000)));
