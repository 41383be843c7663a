-- Nobody reads them any more: the log of acts is searched by parts.
DROP INDEX "admin_act_action";--> statement-breakpoint
DROP INDEX "admin_act_target";
