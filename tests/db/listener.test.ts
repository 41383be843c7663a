import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { freePort } from '#tests/support/stores/redis.ts'
import { openListener } from '@/db/listener.ts'

const database = await fileDatabase()

/** What happened, in order; `next` waits for the first that was not asked for yet. */
function recorder() {
  const happened: string[] = []
  const waiting: ((event: string) => void)[] = []
  return {
    add(event: string): void {
      const first = waiting.shift()
      if (first === undefined) happened.push(event)
      else first(event)
    },
    next: () => {
      const event = happened.shift()
      return event === undefined
        ? new Promise<string>(resolve => waiting.push(resolve))
        : Promise.resolve(event)
    },
  }
}

function listen(record: ReturnType<typeof recorder>, url = database.url) {
  return openListener(url, {
    channel: 'news',
    onMessage: payload => record.add(payload),
    onConnect: () => record.add('connected'),
    onLost: () => record.add('lost'),
  })
}

test('hears messages, and again after its connection was cut', async () => {
  const record = recorder()
  const listener = await listen(record)
  expect(await record.next()).toBe('connected')
  await database.sql`notify news, 'first'`
  expect(await record.next()).toBe('first')

  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'tollgate listener'`
  expect(await record.next()).toBe('lost')
  expect(await record.next()).toBe('connected')
  await database.sql`notify news, 'second'`
  expect(await record.next()).toBe('second')
  await listener.close()
})

test('keeps trying while the database takes no connections', async () => {
  const record = recorder()
  const door = await openDoor()
  const listener = await listen(record, door.url)
  expect(await record.next()).toBe('connected')
  door.shut()
  expect(await record.next()).toBe('lost')
  expect(await record.next()).toBe('lost')
  await door.open()
  let event = await record.next()
  while (event === 'lost') event = await record.next()
  expect(event).toBe('connected')
  await listener.close()
  door.shut()
})

test('says nothing after it was closed', async () => {
  const record = recorder()
  const listener = await listen(record)
  expect(await record.next()).toBe('connected')
  await listener.close()
  await database.sql`notify news, 'too late'`
  expect(await Promise.race([record.next(), Promise.resolve('silence')])).toBe('silence')
})

test('fails at once when the first connection cannot be made', async () => {
  const record = recorder()
  const nowhere = openListener('postgres://nobody@127.0.0.1:1/none', {
    channel: 'news',
    onMessage: record.add,
    onConnect: () => record.add('connected'),
    onLost: () => record.add('lost'),
  })
  await expect(nowhere).rejects.toThrow()
})

/** Another address of the database, which can be shut and opened again. */
async function openDoor() {
  const target = new URL(database.url)
  const directory = target.searchParams.get('host')
  const port = Number(target.port || 5432)
  const sockets = new Set<Socket>()
  const doorPort = await freePort()
  let server: Server | undefined

  function pass(client: Socket): void {
    const upstream =
      directory === null ? connect(port, target.hostname) : connect(`${directory}/.s.PGSQL.${port}`)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.pipe(upstream).pipe(client)
  }

  async function open(): Promise<void> {
    server = createServer(pass)
    await once(server.listen(doorPort, '127.0.0.1'), 'listening')
  }

  await open()
  const url = new URL(database.url)
  url.searchParams.delete('host')
  url.host = `127.0.0.1:${doorPort}`
  return {
    url: url.href,
    open,
    shut(): void {
      server?.close()
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
  }
}
