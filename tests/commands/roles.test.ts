import { expect, test } from 'bun:test'
import { spawnServer } from '#tests/support/gateway/serve-process.ts'
import { SECRET } from '#tests/support/secret.ts'
import { emptyTestDatabase } from '#tests/support/stores/database.ts'
import { connect } from '@/db/connect.ts'
import { migrate } from '@/db/migrate.ts'

const BODY = '{"model":"demo/echo","messages":[{"role":"user","content":"hi"}]}'

/** What docs/deployment.md has a superuser run, and the owner. */
async function grantsOf(names: { owner: string; serve: string }): Promise<string[]> {
  const page = await Bun.file(new URL('../../docs/deployment.md', import.meta.url)).text()
  const blocks = page.matchAll(/```sql\n((?:grant|revoke) [^`]+)```/g)
  return Array.from(blocks, ([, sql = '']) =>
    sql.replaceAll('tollgate_serve', names.serve).replaceAll('tollgate_owner', names.owner),
  )
}

test('with what docs/deployment.md grants, a role that owns nothing serves, charges and audits, and neither changes entries nor sums up too early', async () => {
  const server = await emptyTestDatabase()
  const id = crypto.randomUUID().replaceAll('-', '')
  const names = { owner: `owner_${id}`, serve: `serve_${id}` }
  const as = (role: string) => {
    const url = new URL(server.url)
    url.username = role
    url.password = 'hunter2'
    return connect(url.href)
  }
  const [owner, serving] = [as(names.owner), as(names.serve)]
  const [once = '', each = ''] = await grantsOf(names)
  // The schema as in a database that was made before Postgres 15.
  await server.sql.unsafe(`
    create role ${names.owner} login password 'hunter2';
    create role ${names.serve} login password 'hunter2';
    grant create on database ${new URL(server.url).pathname.slice(1)} to ${names.owner};
    alter schema public owner to current_user;
    grant create on schema public to public;
    ${once}`)
  await migrate(owner.url)
  await owner.sql.unsafe(each)
  const [ofOwner, ofServing] = [await owner.sql.reserve(), await serving.sql.reserve()]
  await ofOwner.unsafe('begin; lock table exchange in row exclusive mode')
  await ofServing.unsafe('begin; select now()')

  const env = { DATABASE_URL: serving.url, TOLLGATE_SECRET: SECRET }
  const gateway = await spawnServer({
    env,
    config:
      'channels: [{ name: sim, format: openai-chat-completions, base_url: "simulator:" }]\n' +
      'models: [{ id: demo/echo, channels: [{ channel: sim, model: echo }], prices: { input: 1, output: 2 } }]\n',
  })
  const tollgate = (...words: string[]) => {
    const ran = Bun.spawnSync([process.execPath, 'src/main.ts', ...words, '--json'], {
      env: { PATH: process.env['PATH'], DATA_DIR: `${gateway.dataDir}/data`, ...env },
    })
    return JSON.parse(ran.stdout.toString())
  }
  const account = tollgate('account', 'create', '--email', 'a@b.c', '--credit', '5')
  const { key } = tollgate('key', 'create', '--account', String(account.id))
  const answer = await fetch(`${gateway.apiUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: BODY,
  })
  expect(answer.status).toBe(200)
  gateway.kill('SIGTERM')
  await gateway.exited
  expect(await owner.sql`select from entry where kind = 'usage'`).toHaveLength(1)
  expect(tollgate('audit')).toMatchObject({ ok: true })
  expect(gateway.output()).not.toMatch(/permission denied|must be owner/)

  // Each beside a transaction of the other role, which began before there was anything to sum up.
  await serving.sql`select usage_add_up('0')`
  expect(await owner.sql`select from usage_total`).toHaveLength(0)
  await ofOwner`commit`
  await serving.sql`select usage_add_up('0')`
  expect(await owner.sql`select from usage_total`).toHaveLength(1)
  await serving.sql`select ledger_roll_up(now() + interval '26 hours')`
  expect(await owner.sql`select from daily_total`).toHaveLength(0)
  await ofServing`commit`
  await serving.sql`select ledger_roll_up(now() + interval '26 hours')`
  expect(await owner.sql`select from daily_total`).toHaveLength(2)

  for (const statement of [
    'update wallet set credits = credits + 1',
    'delete from entry',
    'delete from hold',
    'alter table entry disable trigger all',
    'create table mine ()',
  ]) {
    await expect(serving.sql.unsafe(statement)).rejects.toThrow(/permission denied|must be owner/)
  }
  const kept = await owner.sql`
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and not has_table_privilege(${names.serve}, oid, 'insert')
    order by 1`
  // All that only the ledger's functions write. A new table is either one of them, or to be granted.
  expect(kept.map(({ relname }) => relname).join(' ')).toBe(
    'daily_total entry hold idempotency key_budget ledger_grant monthly_total process redeem_code redemption wallet',
  )
  // What a migration makes while old processes run on, before the owner grants again.
  await owner.sql.unsafe(`
    create table later (id integer generated always as identity);
    create function ledger_later() returns integer language sql as 'select 1';
    revoke execute on function ledger_later() from public`)
  await serving.sql`select ledger_later(), nextval('later_id_seq'), exists (select from later)`

  ofOwner.release()
  ofServing.release()
  await Promise.all([owner.close(), serving.close()])
  for (const role of [names.serve, names.owner]) {
    await server.sql.unsafe(
      `reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`,
    )
  }
  await server.close()
}, 120_000)
