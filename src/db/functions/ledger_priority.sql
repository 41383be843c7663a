-- In which order grants are used up: the smallest number first.
CREATE OR REPLACE FUNCTION public.ledger_priority(p_grant text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_position(ARRAY['trial', 'promo', 'goodwill', 'returned', 'paid'], p_grant) - 1
$function$;
