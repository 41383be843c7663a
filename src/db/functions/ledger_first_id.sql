-- The smallest UUIDv7 of a moment, where a month begins.
CREATE OR REPLACE FUNCTION public.ledger_first_id(p_at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT rpad(lpad(to_hex(floor(extract(epoch FROM p_at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$function$;
