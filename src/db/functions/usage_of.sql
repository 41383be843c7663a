-- What one row of exchange adds. The time is that of its id, as pages ask for it.
CREATE OR REPLACE FUNCTION public.usage_of(e exchange)
 RETURNS SETOF usage_total
 LANGUAGE sql
 STABLE
AS $function$
  SELECT e.account_id, to_timestamp(('x' || translate(left(e.id::text, 13), '-', ''))::bit(48)::bigint / 900000 * 900),
    e.key_id, coalesce(e.model, ''), coalesce(e.channel, ''), 1::bigint, (e.end_state <> 'complete')::integer::bigint,
    coalesce(e.cost_nano, 0)::numeric(30, 0),
    e.input_uncached + e.cache_read + e.cache_write5m + e.cache_write1h + e.audio_input, e.cache_read,
    e.output_text + e.reasoning + e.audio_output, coalesce(e.service_tier, '')
$function$;
