CREATE TABLE "refused_settlement" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"key_id" bigint NOT NULL,
	"cost_nano" numeric(40, 0) NOT NULL,
	"cost_pico" numeric(40, 0) NOT NULL,
	"reason" text NOT NULL,
	"refused_at" timestamp with time zone DEFAULT now() NOT NULL
);
