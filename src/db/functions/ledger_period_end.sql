-- When a period of a key's budget ends, in UTC; null for one that never does.
CREATE OR REPLACE FUNCTION public.ledger_period_end(p_period text, p_start timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE p_period WHEN 'total' THEN NULL
    ELSE (p_start AT TIME ZONE 'UTC' + ('1 ' || p_period)::interval) AT TIME ZONE 'UTC' END
$function$;
