CREATE TABLE "refund_fact" (
	"payment" text NOT NULL,
	"fact" text NOT NULL,
	"is_failure" boolean NOT NULL,
	"amount" bigint NOT NULL,
	"told_at" timestamp with time zone NOT NULL,
	CONSTRAINT "refund_fact_payment_fact_pk" PRIMARY KEY("payment","fact")
);
--> statement-breakpoint
-- What was told until now, as far as entries say it: each refund that failed, and all that was refunded, as of the last
-- time that some was.
INSERT INTO refund_fact (payment, fact, is_failure, amount, told_at)
  SELECT e.ref, i.key, true, e.amount, coalesce(substring(e.reason FROM ' at (\S+Z)$')::timestamptz, e.created_at)
  FROM idempotency i JOIN entry e ON e.id = i.id
  WHERE i.scope = 'stripe' AND i.key LIKE '% failed' AND e.kind = 'adjustment' AND e.ref IS NOT NULL;
--> statement-breakpoint
INSERT INTO refund_fact (payment, fact, is_failure, amount, told_at)
  SELECT r.payment, 'refunded so far', false, r.amount - coalesce(
    (SELECT sum(f.amount) FROM refund_fact f WHERE f.payment = r.payment AND f.told_at <= r.told_at), 0), r.told_at
  FROM (SELECT e.ref AS payment, -sum(e.amount) AS amount, max(e.created_at) AS told_at
    FROM idempotency i JOIN entry e ON e.id = i.id
    WHERE i.scope = 'stripe' AND e.kind = 'refund' AND e.ref IS NOT NULL GROUP BY e.ref) r;
