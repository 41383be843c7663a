-- When the period of a key's budget began in which a moment lies, in UTC.
CREATE OR REPLACE FUNCTION public.ledger_period_start(p_period text, p_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE p_period WHEN 'total' THEN to_timestamp(0)
    ELSE date_trunc(p_period, p_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' END
$function$;
