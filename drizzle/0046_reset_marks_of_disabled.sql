-- Whoever was disabled before that took the mark away waits for no link.
UPDATE "console_user" SET "reset_requested_at" = NULL WHERE "status" = 'disabled' AND "reset_requested_at" IS NOT NULL;
