DROP INDEX "admin_act_user";--> statement-breakpoint
CREATE INDEX "admin_act_at" ON "admin_act" USING btree ("at","id");--> statement-breakpoint
CREATE INDEX "admin_act_user" ON "admin_act" USING btree ("user_id","at","id");