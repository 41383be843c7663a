import { expect, test } from 'bun:test'
import { spawnServer } from '#tests/support/gateway/serve-process.ts'
import { SECRET } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { connect } from '@/db/connect.ts'

const BODY = '{"model":"demo/echo","messages":[{"role":"user","content":"hi"}]}'

/** What docs/deployment.md has the owner grant. */
async function grantsTo(role: string): Promise<string> {
  const page = await Bun.file(new URL('../../docs/deployment.md', import.meta.url)).text()
  const [, grants = ''] = /```sql\n(grant [^`]+)```/.exec(page) ?? []
  return grants.replaceAll('tollgate_serve', role)
}

test('with what docs/deployment.md grants, a role that owns nothing serves, charges and audits, and can change nothing that the ledger has', async () => {
  const owner = await testDatabase()
  const role = `serve_${crypto.randomUUID().replaceAll('-', '')}`
  await owner.sql.unsafe(`create role ${role} login password 'hunter2'; ${await grantsTo(role)}`)
  const url = new URL(owner.url)
  url.username = role
  url.password = 'hunter2'
  const env = { DATABASE_URL: url.href, TOLLGATE_SECRET: SECRET }
  const server = await spawnServer({
    env,
    config:
      'channels: [{ name: sim, format: openai-chat-completions, base_url: "simulator:" }]\n' +
      'models: [{ id: demo/echo, channels: [{ channel: sim, model: echo }], prices: { input: 1, output: 2 } }]\n',
  })
  const tollgate = (...words: string[]) => {
    const ran = Bun.spawnSync([process.execPath, 'src/main.ts', ...words, '--json'], {
      env: { PATH: process.env['PATH'], DATA_DIR: `${server.dataDir}/data`, ...env },
    })
    return JSON.parse(ran.stdout.toString())
  }
  const { id } = tollgate('account', 'create', '--email', 'a@b.c', '--credit', '5')
  const { key } = tollgate('key', 'create', '--account', String(id))
  const answer = await fetch(`${server.apiUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: BODY,
  })
  expect(answer.status).toBe(200)
  server.kill('SIGTERM')
  await server.exited
  expect(await owner.sql`select from entry where kind = 'usage'`).toHaveLength(1)
  expect(tollgate('audit')).toMatchObject({ ok: true })
  expect(server.output()).not.toMatch(/"level":[45]0/)

  const serving = connect(url.href)
  for (const statement of [
    'update wallet set credits = credits + 1',
    'delete from entry',
    'delete from hold',
    'alter table entry disable trigger all',
  ]) {
    await expect(serving.sql.unsafe(statement)).rejects.toThrow(/permission denied|must be owner/)
  }
  const kept = await owner.sql`
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and not has_table_privilege(${role}, oid, 'insert')
    order by 1`
  // All that only the ledger's functions write. A new table is either one of them, or to be granted.
  expect(kept.map(({ relname }) => relname).join(' ')).toBe(
    'daily_total entry hold idempotency key_budget ledger_grant monthly_total process redeem_code redemption wallet',
  )
  await serving.close()
  await server.close()
  await owner.sql.unsafe(`drop owned by ${role}; drop role ${role}`)
  await owner.close()
}, 120_000)
