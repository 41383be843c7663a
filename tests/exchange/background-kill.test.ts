import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { type ServerProcess, spawnServer } from '#tests/support/gateway/serve-process.ts'
import { SECRET } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { eventStream, fedStream, scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'

// Two processes start, and one is waited for until it is known to be dead.
setDefaultTimeout(120_000)

const database = await testDatabase()
const fed = fedStream()
const upstream = scriptedUpstream(() => eventStream(fed.stream))
const processes: ServerProcess[] = []

afterAll(async () => {
  for (const process of processes) await process.close()
  await upstream.stop()
  await database.close()
})

const CONFIG = `
channels: [{ name: up, format: openai-chat-completions, base_url: "${upstream.url}", api_keys: [k], allow_private: true }]
models: [{ id: m, channels: [{ channel: up }], prices: { input: 1, output: 2 } }]
`

async function start(): Promise<ServerProcess> {
  const started = await spawnServer({
    env: { DATABASE_URL: database.url, TOLLGATE_SECRET: SECRET },
    config: CONFIG,
  })
  processes.push(started)
  return started
}

test('a background response whose process is killed fails readably, and its money moves once', async () => {
  const doomed = await start()
  const survivor = await start()
  const { accountId, key: apiKey } = await openPayer(database)
  const clientOf = ({ apiUrl }: ServerProcess) =>
    new OpenAI({ apiKey, baseURL: `${apiUrl}/v1`, maxRetries: 0 })

  fed.write(
    'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"first words"}}]}\n\n',
  )
  const { id } = await clientOf(doomed).responses.create({ model: 'm', input: 'go', background: true })
  const other = clientOf(survivor)
  await until(async () => (await other.responses.retrieve(id)).status === 'in_progress')
  const watching = await other.responses.retrieve(id, { stream: true })
  doomed.kill('SIGKILL')
  await doomed.exited

  const watched = async () => {
    for await (const event of watching) expect(event.type).not.toBe('response.completed')
  }
  await expect(watched()).rejects.toMatchObject({ code: 'server_error' })
  const failed = await other.responses.retrieve(id)
  expect(failed).toMatchObject({ id, status: 'failed', error: { code: 'server_error' } })
  expect(failed.error?.message).toContain('ended before it was complete')

  await until(async () => {
    const [row] = await database.sql`select count(*)::int as holds from hold`
    return row?.['holds'] === 0
  }, 60_000)
  const entries =
    await database.sql`select amount from entry where account_id = ${accountId} and kind = 'usage'`
  expect(entries.length).toBeLessThanOrEqual(1)
  const [wallet] = await database.sql`select pending from wallet where account_id = ${accountId}`
  expect(wallet?.['pending']).toBe(0n)
})
