/**
 * SQL: whatever of the schema is in force in this database, `what` it is and the `digest` of its definition; both read
 * the same in every version of Postgres from 15 on. Partitions are left out, which each month has others of. What the
 * migrations make is in definitions.json (tests/db/schema.test.ts writes it), the newest of them as well: a database that
 * a newer program has migrated is not what this one knows.
 */
export const DEFINITIONS = `
  select what, md5(definition) as digest from (
    select 'newest migration' as what, max(created_at)::text as definition from drizzle.__drizzle_migrations
    union all
    select format('column %s of %s', a.attname, c.relname),
      concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    union all
    -- Not null is said of columns, and is a constraint from Postgres 18 on. What says NOT VALID has another definition.
    select format('constraint %s of %s', k.conname, c.relname), pg_get_constraintdef(k.oid)
    from pg_class c join pg_constraint k on k.conrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and k.contype in ('c', 'f', 'p', 'u')
      and k.conparentid = 0
      and not exists (select from pg_trigger t where t.tgconstraint = k.oid and t.tgenabled not in ('O', 'A'))
    union all
    select format('unique index %s of %s', c.relname, i.indrelid::regclass), pg_get_indexdef(c.oid)
    from pg_class c join pg_index i on i.indexrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and i.indisunique and i.indisvalid
      and not exists (select from pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u'))
    union all
    select format('trigger %s of %s', t.tgname, c.relname), pg_get_triggerdef(t.oid)
    from pg_class c join pg_trigger t on t.tgrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and not t.tgisinternal and t.tgenabled in ('O', 'A')
    union all
    select format('function %s', p.proname), pg_get_functiondef(p.oid)
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prokind = 'f') made`
