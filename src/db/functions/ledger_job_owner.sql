-- The owner of holds of work that outlives the process that began it (video_job). It is no process: the reaper leaves
-- them alone, whatever their deadline, and the audit asks for the job that answers for each.
CREATE OR REPLACE FUNCTION public.ledger_job_owner()
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT '00000000-0000-7000-8000-000000000001'::uuid
$function$;
