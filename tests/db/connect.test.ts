import { expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { testDatabase } from '#tests/support/stores/database.ts'
import { frontOf } from '#tests/support/stores/front.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect, openClient, pauseBeforeAttempt } from '@/db/connect.ts'
import { TIMINGS } from '@/ledger/timings.ts'

test('a database that is back is noticed within a second, however long it was away', () => {
  const pauses = [0, 1, 5, 10, 1_000].map(pauseBeforeAttempt)
  expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
  expect(pauses[0]).toBeGreaterThan(0)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1)
})

test.each([
  ['[::1]:5433', ['::1'], [5433]],
  ['[fd00::7]', ['fd00::7'], [5432]],
  ['[::1]:1,db.example:2,10.0.0.1', ['::1', 'db.example', '10.0.0.1'], [1, 2, 1]],
  ['one:1,two', ['one', 'two'], [1, 1]],
])('postgres://user:word@%s/name leads there, IPv6 addresses as well', (hosts, host, port) => {
  expect(openClient(`postgres://user:word@${hosts}/name`, { max: 1 }).options).toMatchObject({
    host,
    port,
    user: 'user',
    pass: 'word',
    database: 'name',
  })
})

test.each([
  'postgres://user:word@localhost:5433/name?host=/run/it',
  'postgres://user:word@/name?host=/run/it&port=5433',
  'postgres://user:word@%2Frun%2Fit:5433/name',
])('%s leads to the unix socket of that directory, as with libpq', url => {
  expect(openClient(url, { max: 1 }).options).toMatchObject({
    path: '/run/it/.s.PGSQL.5433',
    user: 'user',
    pass: 'word',
    database: 'name',
  })
})

test.each([
  ['disable', false],
  ['allow', 'prefer'],
  ['prefer', 'prefer'],
  ['require', 'require'],
  ['verify-full', 'verify-full'],
] as const)('sslmode=%s asks for TLS only where it has to be', (mode, ssl) => {
  const { options } = openClient(`postgres://user@one/name?application_name=x&sslmode=${mode}`, { max: 1 })
  expect(options.ssl).toBe(ssl)
})

/** What patches/ changes in postgres.js 3.4.9: https://github.com/porsager/postgres/issues/1208 */
test('a statement on a connection that was lost just before fails, and the connection is as good as new after that', async () => {
  const server = await testDatabase()
  const closed = Promise.withResolvers<void>()
  const pool = connect(server.url, { max: 1, onClose: closed.resolve })
  const reserved = await pool.sql.reserve()
  const [row] = await reserved`select pg_backend_pid() as pid`
  await server.sql`select pg_terminate_backend(${Number(row?.['pid'])})`
  await closed.promise
  const failure = await reserved`select 1`.catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'CONNECTION_CLOSED' })
  const [after] = await pool.sql`select 7 as answer`
  expect(after?.['answer']).toBe(7)
  await pool.close()
  await server.close()
})

/** What patches/ changes in postgres.js 3.4.9: it kept such a statement, and gave it nothing or the answer to another. */
test('a statement that comes between the error of a connection and its close fails or has its own answer', async () => {
  const server = await testDatabase()
  const pool = connect(server.url, { max: 1 })
  for (let round = 0; round < 20; round += 1) {
    const [row] = await pool.sql`select pg_backend_pid() as pid`
    const lost = pool.sql`select pg_sleep(60)`.catch((error: unknown) => error)
    const next = lost.then(() => pool.sql`select 7 as answer`).catch((error: unknown) => error)
    await server.sql`select pg_terminate_backend(${Number(row?.['pid'])})`
    expect(await lost).toBeInstanceOf(Error)
    const answer = await next
    if (!(answer instanceof Error)) expect(answer).toEqual([{ answer: 7 }])
  }
  await pool.close()
  await server.close()
})

/** What patches/ changes in postgres.js 3.4.9: that connection stood again for another, who had it in the middle of a transaction. */
test('what a transaction says after its connection was lost is said on no other', async () => {
  const server = await testDatabase()
  await server.sql`create table said (word text)`
  const closed = Promise.withResolvers<void>()
  const pool = connect(server.url, { max: 1, onClose: closed.resolve })
  const mayGoOn = Promise.withResolvers<void>()
  const late = Promise.withResolvers<unknown>()
  const transaction = pool.sql
    .begin(async tx => {
      const [row] = await tx`insert into said values ('before') returning pg_backend_pid() as pid`
      await server.sql`select pg_terminate_backend(${Number(row?.['pid'])})`
      await mayGoOn.promise
      late.resolve(await tx`insert into said values ('after')`.catch((error: unknown) => error))
    })
    .catch((error: unknown) => error)
  await closed.promise
  expect(await transaction).toMatchObject({ code: 'CONNECTION_CLOSED' })
  await pool.sql.begin(async tx => {
    await tx`insert into said values ('of another')`
    mayGoOn.resolve()
    expect(await late.promise).toMatchObject({ code: 'CONNECTION_CLOSED' })
  })
  expect([...(await server.sql`select word from said`)]).toEqual([{ word: 'of another' }])
  await pool.close()
  await server.close()
})

test('times, bytes and transactions are what they are, whatever the operator has set for other users of the server', async () => {
  const server = await testDatabase()
  const [row] = await server.sql`select current_database() as name`
  const name = server.sql(String(row?.['name']))
  for (const setting of [
    "datestyle = 'SQL, DMY'",
    "timezone = 'Asia/Kathmandu'",
    "bytea_output = 'escape'",
    "default_transaction_isolation = 'serializable'",
  ]) {
    await server.sql`alter database ${name} set ${server.sql.unsafe(setting)}`
  }
  const pool = connect(server.url)
  const [answer] = await pool.sql`
    select '2026-04-03T01:02:03Z'::timestamptz as at, '\\xff00'::bytea as bytes, current_setting('transaction_isolation') as isolation`
  expect(answer).toEqual({
    at: '2026-04-03 01:02:03+00',
    bytes: Buffer.from([255, 0]),
    isolation: 'read committed',
  })
  await pool.close()
  await server.close()
})

/** A message of the wire protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

/** The address of a server that takes connections so. */
async function listenerFor(take: (socket: Socket) => void) {
  const server = createServer(socket => take(socket.on('error', () => undefined)))
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`
  return { host, close: () => server.close() }
}

/** What patches/ changes in postgres.js 3.4.9: what it asks for itself of each new connection had nobody who heard that it failed. */
test('a connection that breaks off as soon as it stands fails the statement that it was made for, and nothing else', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const server = await listenerFor(socket =>
    socket.once('data', () => {
      socket.write(PRIMARY)
      socket.once('data', () => socket.resetAndDestroy())
    }),
  )
  const pool = connect(`postgres://nobody@${server.host}/none`, { max: 1 })
  const failure = await pool.sql`select 1`.catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'ECONNRESET' })
  await pool.sql.end({ timeout: 0 })
  server.close()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

/** What patches/ changes in postgres.js 3.4.9: it connected again and again, without a pause, and its statement waited for ever. */
test.each<[string, string, (socket: Socket) => void]>([
  ['as soon as it stands', 'CONNECTION_CLOSED', socket => socket.end()],
  [
    'before it is asked for anything of its own',
    'CONNECTION_CLOSED',
    socket =>
      socket.once('data', () => {
        socket.write(PRIMARY)
        socket.once('data', () => socket.end())
      }),
  ],
  [
    'with the reason, as by a pooler whose server is gone',
    '08P01',
    socket =>
      socket.once('data', () => {
        socket.write(PRIMARY)
        socket.once('data', () => socket.end(GONE))
      }),
  ],
])(
  'a connection that is closed %s fails the statement that it was made for, at once',
  async (_, code, take) => {
    let connections = 0
    const server = await listenerFor(socket => {
      connections += 1
      take(socket)
    })
    const pool = connect(`postgres://nobody@${server.host}/none`, { max: 1 })
    expect(await pool.sql`select 1`.catch((error: unknown) => error)).toMatchObject({ code })
    expect(connections).toBe(1)
    await pool.sql.end({ timeout: 0 })
    server.close()
  },
)

/** What patches/ changes in postgres.js 3.4.9: it tried one after the other hundreds of times a second. */
test('of several hosts that take no connection the first is tried again after a pause', async () => {
  const [begun, tenth] = [performance.now(), Promise.withResolvers<number>()]
  let connections = 0
  const server = await listenerFor(socket => {
    socket.end()
    connections += 1
    if (connections === 10) tenth.resolve(performance.now() - begun)
  })
  const pool = connect(`postgres://nobody@${server.host},${server.host}/none`, { max: 1 })
  const failure = pool.sql`select 1`.catch((error: unknown) => error)
  // The four pauses between five rounds: 40, 80, 160 and 320 ms.
  expect(await tenth.promise).toBeGreaterThan(590)
  await pool.sql.end({ timeout: 0 })
  expect(await failure).toMatchObject({ code: 'CONNECTION_DESTROYED' })
  server.close()
})

/** What patches/ changes in postgres.js 3.4.9: the connection was made, and stood until its lifetime was over. */
test('a pool that ends in the pause before a connection makes none after that', async () => {
  let connections = 0
  const server = await listenerFor(socket => {
    connections += 1
    socket.resetAndDestroy()
  })
  const failures = 6
  const failing = async () => {
    let closed = Promise.withResolvers<void>()
    const onClose = () => closed.resolve()
    const pool = connect(`postgres://nobody@${server.host}/none`, { max: 1, onClose })
    for (let i = 0; i < failures; i += 1) {
      closed = Promise.withResolvers<void>()
      await pool.sql`select 1`.catch(() => undefined)
      await closed.promise
    }
    return pool
  }
  const ended = await failing()
  const waiting = ended.sql`select 1`.catch((error: unknown) => error)
  await ended.sql.end({ timeout: 0 })
  expect(await waiting).toMatchObject({ code: 'CONNECTION_DESTROYED' })
  // Takes longer than the pause would have.
  const other = await failing()
  await other.sql.end({ timeout: 0 })
  expect(connections).toBe(2 * failures)
  server.close()
})

/** What patches/ changes in postgres.js 3.4.9: it waited until its patience was over. */
test('a pool whose last connection is lost while it ends has ended', async () => {
  const server = await testDatabase()
  const pool = connect(server.url, { max: 1 })
  const [row] = await pool.sql`select pg_backend_pid() as pid`
  const failure = pool.sql`select pg_sleep(600)`.catch((error: unknown) => error)
  const ended = pool.sql.end({ timeout: 600 })
  await server.sql`select pg_terminate_backend(${Number(row?.['pid'])})`
  expect(await failure).toMatchObject({ code: '57P01' })
  await ended
  await server.close()
})

/** What patches/ changes in postgres.js 3.4.9: it had ended before them, and what they were asked on stood for up to an hour. */
test.each([
  [1, 'are lost'],
  [2, 'are lost'],
  [1, 'become free'],
  [2, 'become free'],
])(
  'a pool of %i that ends and whose connections %s has answered what waited, and has no connection after that',
  async (max, how) => {
    const server = await testDatabase()
    const pool = connect(server.url, { max, applicationName: 'ending' })
    const free = Promise.withResolvers<void>()
    const pids: number[] = []
    const begun = Array.from({ length: max }, () =>
      pool.sql
        .begin(async sql => {
          const [row] = await sql`select pg_backend_pid() as pid`
          pids.push(Number(row?.['pid']))
          await free.promise
        })
        .catch((error: unknown) => error),
    )
    await until(() => pids.length === max)
    const answers: unknown[] = []
    const asked = [1, 2, 3, 4, 5, 6, 7]
    const waiting = asked.map(n => pool.sql`select ${n}::int as n`.then(([row]) => answers.push(row?.['n'])))
    const ended = pool.sql.end({ timeout: 600 }).then(() => answers.length)
    if (how === 'are lost') for (const pid of pids) await server.sql`select pg_terminate_backend(${pid})`
    else free.resolve()
    await Promise.all([...begun, ...waiting])
    expect(answers.toSorted()).toEqual(asked)
    expect(await ended).toBe(asked.length)
    await until(async () => {
      const [row] = await server.sql`
        select count(*)::int as open from pg_stat_activity where application_name = 'ending'`
      return row?.['open'] === 0
    })
    await server.close()
  },
)

/** What patches/ changes in postgres.js 3.4.9: the statement that was being connected for was told nothing, ever. */
test('a pool of several hosts that are all down and that ends has failed what waited', async () => {
  const server = await testDatabase()
  const [first, second] = [await frontOf(server), await frontOf(server)]
  const pool = connect(first.addressOver(`${first.host},${second.host}`), { max: 2 })
  const pids: number[] = []
  const transactions = [1, 2].map(() =>
    pool.sql
      .begin(async sql => {
        const [row] = await sql`select pg_backend_pid() as pid`
        pids.push(Number(row?.['pid']))
        await sql`select pg_sleep(600)`
      })
      .catch((error: unknown) => error),
  )
  await until(() => pids.length === 2)
  const waiting = [1, 2, 3].map(n => pool.sql`select ${n}::int`.catch((error: unknown) => error))
  first.close()
  second.close()
  const ended = pool.sql.end({ timeout: 0.2 })
  await server.sql`select pg_terminate_backend(${Number(pids[0])})`
  await ended
  for (const failure of await Promise.all([...transactions, ...waiting])) {
    expect(failure).toBeInstanceOf(Error)
  }
  await server.close()
})

/** What patches/ changes in postgres.js 3.4.9: what was not yet said to the server, and the transaction, waited for it for ever. */
test('a transaction whose pool is given up fails with all its statements, though the server is silent', async () => {
  const server = await testDatabase()
  const front = await frontOf(server)
  const pool = connect(front.addressOver(front.host), { max: 1 })
  const statements = Promise.withResolvers<Promise<unknown>[]>()
  const transaction = pool.sql
    .begin(async sql => {
      await sql`select 1`
      front.freeze()
      const failures = [1, 2, 3].map(n => sql`select ${n}::int`.catch((error: unknown) => error))
      statements.resolve(failures)
      await Promise.all(failures)
    })
    .catch((error: unknown) => error)
  const failures = await statements.promise
  pool.renew()
  for (const failure of await Promise.all([transaction, ...failures])) {
    expect(failure).toMatchObject({ code: 'CONNECTION_DESTROYED' })
  }
  front.cut()
  front.close()
  await pool.close()
  await server.close()
})

/** What patches/ changes in postgres.js 3.4.9: the connections that such a server did not close held the process for ever. */
test.each(['pool.renew()', 'await pool.sql.end({ timeout: 0.1 })'])(
  'a process ends after %s, though the server of its connections is silent',
  async givesUp => {
    const server = await testDatabase()
    const front = await frontOf(server)
    const program = `
      import { connect } from '@/db/connect.ts'
      const pool = connect(process.argv[1], { max: 2 })
      await Promise.all([pool.sql\`select pg_sleep(0.01)\`, pool.sql\`select pg_sleep(0.01)\`])
      console.write('connected')
      await Bun.stdin.text()
      pool.sql\`select 1\`.catch(() => undefined)
      ${givesUp}
    `
    const child = Bun.spawn([process.execPath, '-e', program, front.addressOver()], {
      stdin: 'pipe',
      stdout: 'pipe',
    })
    await child.stdout.getReader().read()
    front.freeze()
    await child.stdin.end()
    expect(await child.exited).toBe(0)
    front.cut()
    front.close()
    await server.close()
  },
)

const GONE = message('E', 'SFATAL\0VFATAL\0C08P01\0Mserver login has been failing\0\0')

/** What a server that takes writes says as soon as it is spoken to. */
const PRIMARY = Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')])

/** What a copy says as soon as it is spoken to; it would take any statement. */
const COPY = Buffer.concat([
  message('R', '\0\0\0\0'),
  message('S', 'in_hot_standby\0on\0'),
  message('S', 'default_transaction_read_only\0off\0'),
  message('Z', 'I'),
])

test.each(['', 'target_session_attrs=read-write'])(
  'of several hosts the one is taken that takes writes, and not a copy before it (%s)',
  async query => {
    const server = await testDatabase()
    const copy = await listenerFor(socket => socket.once('data', () => socket.write(COPY)))
    const primary = await frontOf(server)
    const pool = connect(`${primary.addressOver(`${copy.host},${primary.host}`)}?${query}`, { max: 1 })
    const [row] = await pool.sql`select pg_is_in_recovery() as "isCopy"`
    expect(row).toEqual({ isCopy: false })
    await pool.close()
    copy.close()
    primary.close()
    await server.close()
  },
)

/** How long each of so many hosts has to take a connection, in ms. */
function patienceOf(hosts: number): number {
  const list = Array.from({ length: hosts }, (_, index) => `h${index}:1`).join()
  return openClient(`postgres://nobody@${list}/none`, { max: 1 }).options.connect_timeout * 1_000
}

test.each([2, 3])(
  'of %i hosts of which only the last says anything that one is asked before the ledger gives its connections up',
  hosts => {
    expect((hosts - 1) * patienceOf(hosts)).toBeLessThanOrEqual(TIMINGS.connectionTimeoutMs - 1_000)
  },
)

test.each([1, 2, 3, 4, 9])(
  'one of %i hosts that needs 2 s to take a connection is not left for that',
  hosts => {
    expect(patienceOf(hosts)).toBeGreaterThan(2_000)
  },
)

test('of several hosts the next is asked when the first takes a connection and says nothing, as one that is stopped', async () => {
  const server = await testDatabase()
  const silent = await listenerFor(() => undefined)
  const primary = await frontOf(server)
  const pool = connect(primary.addressOver(`${silent.host},${primary.host}`), { max: 1 })
  expect(await pool.sql`select 1 as one`).toMatchObject([{ one: 1 }])
  await pool.close()
  silent.close()
  primary.close()
  await server.close()
})

/** What patches/ changes in postgres.js 3.4.9: it began where it had left off, at the copy, and so waited before the first. */
test('of several hosts each connection begins at the first', async () => {
  const server = await testDatabase()
  let askedCopy = 0
  const copy = await listenerFor(socket => {
    askedCopy += 1
    socket.once('data', () => socket.write(COPY))
  })
  const primary = await frontOf(server)
  let closed = Promise.withResolvers<void>()
  const pool = connect(primary.addressOver(`${primary.host},${copy.host}`), {
    max: 1,
    onClose: () => closed.resolve(),
  })
  for (let connections = 0; connections < 3; connections += 1) {
    closed = Promise.withResolvers<void>()
    expect(await pool.sql`select 1 as one`).toMatchObject([{ one: 1 }])
    primary.cut()
    await closed.promise
  }
  expect(askedCopy).toBe(0)
  await pool.close()
  copy.close()
  primary.close()
  await server.close()
})
