-- What 0002 set for all of them, of which 0040 left out some for ledger_return_budgets.
ALTER FUNCTION ledger_return_budgets() SET enable_seqscan = off;
--> statement-breakpoint
ALTER FUNCTION ledger_return_budgets() SET enable_hashjoin = off;
--> statement-breakpoint
ALTER FUNCTION ledger_return_budgets() SET enable_mergejoin = off;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION ledger_return_budgets() FROM PUBLIC;
