import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endedRecord } from '#tests/support/ended-record.ts'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { startNeighbour } from '#tests/support/gateway/gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { frontOf } from '#tests/support/stores/front.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect } from '@/db/connect.ts'
import { openExchangeNotes } from '@/exchange/results/notes.ts'
import { ExchangeWriter } from '@/exchange/results/store.ts'
import { createLog } from '@/telemetry/log.ts'

const gateway = await fileGateway()

const ask = (url: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}` },
    body: JSON.stringify({ model: 'chat/echo', messages: [{ role: 'user', content: 'hi' }] }),
  })

test('a stop serves for its delay, then refuses what is still on its way, then takes no connection', async () => {
  const clock = manualClock()
  const settings = { shutdownDelayMs: 5_000, farewellMs: 250 }
  const server = await startNeighbour(gateway, { clock, settings })
  const stopped = server.stop()
  expect((await ask(server.apiUrl)).status).toBe(200)
  clock.advance(5_000)
  await Promise.resolve()
  const refused = await ask(server.apiUrl)
  expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true])
  expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } })
  clock.advance(250)
  await stopped
  await expect(ask(server.apiUrl)).rejects.toThrow()
})

test('a start stores the results that a process before it could not store', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-left-'))
  const log = createLog({ level: 'silent', format: 'json' })
  const sql = new Proxy(gateway.database.sql, { apply: () => Promise.reject(new Error('away')) })
  const id = Bun.randomUUIDv7()
  const before = new ExchangeWriter(
    { ...gateway.database, sql },
    log,
    gateway.metrics,
    openExchangeNotes(directory, Bun.randomUUIDv7(), log),
  )
  before.take(endedRecord(id), 1)()
  await before.close()
  const server = await startNeighbour(gateway, { settings: { journalDirectory: directory } })
  expect((await gateway.exchanges()).map(stored => stored['id'])).toContain(id)
  await server.stop()
  expect(readdirSync(directory)).toEqual([])
  rmSync(directory, { recursive: true })
})

test('a database that falls silent: the log says why everything that waited for it fails, and that it is over', async () => {
  const front = await frontOf(gateway.database)
  const database = connect(front.addressOver())
  const patience = { ledger: { heartbeatMs: 10, connectionTimeoutMs: 200 }, redisCommandMs: 50 }
  const server = await startNeighbour(gateway, { database, patience })
  front.freeze()
  const says = (line: string) => until(() => gateway.logLines.join().includes(line))
  await says('the database is silent, or takes no writes')
  await says('the database takes writes again')
  await server.stop()
  await database.close()
  front.cut()
  front.close()
})
