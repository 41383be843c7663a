import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@/db/connect.ts'
import { openEmbedded } from '@/db/embedded.ts'
import { findPostmaster } from '@/db/postmaster.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'tollgate-embedded-')))
const dataDir = join(root, 'data')
const directory = join(dataDir, 'postgres')
const processes = new Set<Awaited<ReturnType<typeof launch>>>()

afterEach(async () => {
  for (const process of processes) await process.kill()
  processes.clear()
})

afterAll(async () => {
  const last = await openEmbedded({ dataDir, role: 'command' })
  await last.stop()
  rmSync(root, { recursive: true, force: true })
})

describe('the first start', () => {
  test('makes a database with fsync on, that listens on no port and lets only its owner in', async () => {
    const serve = await launch('serve')
    expect(await serve.said()).toBe('ready')
    expect(
      await serve.ask(`select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
        current_setting('synchronous_commit') as commit, current_setting('listen_addresses') as addresses,
        current_setting('server_encoding') as encoding, current_setting('data_checksums') as checksums`),
    ).toEqual([{ fsync: 'on', pages: 'on', commit: 'on', addresses: '', encoding: 'UTF8', checksums: 'on' }])
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    await serve.finish()
    expect(findPostmaster(directory)).toBeUndefined()
  }, 120_000)

  test('leaves nothing half made when it is killed on the way', async () => {
    const home = join(root, 'interrupted')
    const partial = join(home, 'postgres.new-x1y2z3')
    mkdirSync(partial, { recursive: true })
    writeFileSync(join(partial, 'PG_VERSION'), '18\n')
    const serve = await launch('serve', home)
    expect(await serve.said()).toBe('ready')
    await serve.finish()
    expect(readdirSync(home).filter(name => name.startsWith('postgres.'))).toEqual(['postgres.log'])
  }, 120_000)
})

describe.if(process.getuid?.() === 0)('as root', () => {
  test('runs Postgres as somebody else, also below a directory that nobody else may enter', async () => {
    expect(statSync(root).mode & 0o077).toBe(0)
    const serve = await launch('serve')
    expect(await serve.said()).toBe('ready')
    const status = readFileSync(`/proc/${findPostmaster(directory)}/status`, 'utf8')
    expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).not.toBe('0')
    expect(/^CapEff:\s+(\w+)/m.exec(status)?.[1]).toMatch(/^0+$/)
    await serve.finish()
  }, 120_000)
})

describe('sharing one data directory', () => {
  test('a second server is refused in one line that names the first', async () => {
    const first = await launch('serve')
    expect(await first.said()).toBe('ready')
    const second = await launch('serve')
    expect(await second.said()).toBe(
      `DATA_DIR ${dataDir} is in use by another server, process ${first.pid}: stop it, or use another DATA_DIR`,
    )
    expect(await second.exited).toBe(1)
    expect(await first.ask('select 1 as one')).toEqual([{ one: 1 }])
    await first.finish()
  }, 120_000)

  test('commands use the database of the running server and leave it running', async () => {
    const serve = await launch('serve')
    expect(await serve.said()).toBe('ready')
    const server = findPostmaster(directory)
    const commands = await Promise.all([launch('command'), launch('command')])
    for (const command of commands) {
      expect(await command.said()).toBe('ready')
      await command.finish()
    }
    expect(findPostmaster(directory)).toBe(server)
    expect(await serve.ask('select 1 as one')).toEqual([{ one: 1 }])
    await serve.finish()
  }, 120_000)

  test('a command without a server starts the database and stops it', async () => {
    const command = await launch('command')
    expect(await command.said()).toBe('ready')
    expect(findPostmaster(directory)).toBeGreaterThan(0)
    await command.finish()
    expect(findPostmaster(directory)).toBeUndefined()
  }, 120_000)

  test('a log of Postgres that has grown over the years is begun anew', async () => {
    const log = join(dataDir, 'postgres.log')
    truncateSync(log, 5 << 20)
    const command = await launch('command')
    expect(await command.said()).toBe('ready')
    expect(statSync(log).size).toBeLessThan(1 << 20)
    await command.finish()
  }, 120_000)

  test('a Postgres that does not start is one line of what it said, and where there is more', async () => {
    const control = join(directory, 'global/pg_control')
    renameSync(control, `${control}.away`)
    const opening = openEmbedded({ dataDir, role: 'command' }).catch(String)
    const said = await opening.finally(() => renameSync(`${control}.away`, control))
    expect(said).toMatch(
      /^Refusal: The embedded Postgres does not start: .*pg_control.* \(more in .+postgres\.log\)$/,
    )
  }, 120_000)

  test('a server that comes while a command runs keeps the database when the command leaves', async () => {
    const command = await launch('command')
    expect(await command.said()).toBe('ready')
    const serve = await launch('serve')
    expect(await serve.said()).toBe('ready')
    await command.finish()
    expect(await serve.ask('select 1 as one')).toEqual([{ one: 1 }])
    await serve.finish()
    expect(findPostmaster(directory)).toBeUndefined()
  }, 120_000)

  test('many that come at once on a new directory all get in, on one database', async () => {
    const home = join(root, 'crowd')
    const crowd = await Promise.all(Array.from({ length: 5 }, () => launch('command', home)))
    for (const one of crowd) expect(await one.said()).toBe('ready')
    const pids = await Promise.all(
      crowd.map(one => one.ask(`select pg_postmaster_start_time()::text as started`)),
    )
    expect(new Set(pids.map(rows => JSON.stringify(rows))).size).toBe(1)
    for (const one of crowd) await one.finish()
    expect(findPostmaster(join(home, 'postgres'))).toBeUndefined()
  }, 120_000)

  test('a server of another container is not joined by a second one on the same files', async () => {
    const serve = await launch('serve')
    expect(await serve.said()).toBe('ready')
    writeFileSync(join(dataDir, 'locks', 'namespace'), 'pid:[1]')
    const server = findPostmaster(directory)
    await hidden(async () => {
      const command = await launch('command')
      expect(await command.said()).toContain('in use from another container')
    })
    expect(findPostmaster(directory)).toBe(server)
    await serve.finish()
  }, 120_000)
})

describe('after kill -9', () => {
  test('of the server: the next start ends the orphan and has every commit', async () => {
    const killed = await launch('serve')
    expect(await killed.said()).toBe('ready')
    await killed.ask('create table if not exists note (text text)')
    await killed.ask(`insert into note values ('before the server was killed')`)
    await killed.kill()
    const orphan = findPostmaster(directory)
    expect(orphan).toBeGreaterThan(0)
    const next = await launch('serve')
    expect(await next.said()).toBe('ready')
    expect(findPostmaster(directory)).not.toBe(orphan)
    expect(await next.ask('select text from note')).toContainEqual({ text: 'before the server was killed' })
    await next.finish()
  }, 120_000)

  test('of Postgres: the server starts it again', async () => {
    const serve = await launch('serve')
    expect(await serve.said()).toBe('ready')
    await serve.ask(`insert into note values ('before Postgres was killed')`)
    const before = findPostmaster(directory)
    process.kill(before ?? 0, 'SIGKILL')
    await until(() => ![undefined, before].includes(findPostmaster(directory)))
    const command = await launch('command')
    expect(await command.said()).toBe('ready')
    expect(await command.ask('select text from note')).toContainEqual({ text: 'before Postgres was killed' })
    await command.finish()
    await serve.finish()
  }, 120_000)

  test('of both, with a process id in the stale file that is somebody else now', async () => {
    const killed = await launch('serve')
    expect(await killed.said()).toBe('ready')
    await killed.ask(`insert into note values ('before both were killed')`)
    const server = findPostmaster(directory)
    await killed.kill()
    process.kill(server ?? 0, 'SIGKILL')
    const pidFile = join(directory, 'postmaster.pid')
    writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(process.pid)))
    const next = await launch('serve')
    expect(await next.said()).toBe('ready')
    expect(await next.ask('select text from note')).toContainEqual({ text: 'before both were killed' })
    await next.finish()
  }, 120_000)
})

test('works where the path of the socket would be too long for the system', async () => {
  const home = join(root, 'long-'.repeat(30))
  const embedded = await openEmbedded({ dataDir: home, role: 'command' })
  const database = connect(embedded.url)
  expect([...(await database.sql`select 1 as one`)]).toEqual([{ one: 1 }])
  await database.close()
  await embedded.stop()
  await embedded.stop()
  expect(findPostmaster(join(home, 'postgres'))).toBeUndefined()
}, 120_000)

test.each([
  ['holds no database', (home: string) => writeFileSync(join(home, 'postgres', 'note.txt'), '')],
  ['was made by Postgres 12', (home: string) => writeFileSync(join(home, 'postgres', 'PG_VERSION'), '12\n')],
])('refuses a directory that %s and leaves it as it is', async (reason, spoil) => {
  const home = mkdtempSync(join(root, 'spoilt-'))
  mkdirSync(join(home, 'postgres'))
  spoil(home)
  await expect(openEmbedded({ dataDir: home, role: 'command' })).rejects.toThrow(reason)
})

/** Runs with the server's command line unreadable, as a process of another container is. */
async function hidden(act: () => Promise<void>): Promise<void> {
  const pidFile = join(directory, 'postmaster.pid')
  const content = readFileSync(pidFile, 'utf8')
  writeFileSync(pidFile, content.replace(/^\d+/, '4194303'))
  try {
    await act()
  } finally {
    writeFileSync(pidFile, content)
  }
}

async function launch(role: 'serve' | 'command', home = dataDir) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'embedded-process.ts'), home, role], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines = readLines(child.stdout)
  const said = async () => (await lines.next()).value
  const launched = {
    pid: child.pid,
    exited: child.exited,
    said,
    async ask(sql: string): Promise<unknown> {
      child.stdin.write(`${sql.replaceAll('\n', ' ')}\n`)
      await child.stdin.flush()
      return JSON.parse((await said()) ?? 'null')
    },
    async finish(): Promise<void> {
      await child.stdin.end()
      expect(await said()).toBe('closed')
      expect(await child.exited).toBe(0)
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await child.exited
    },
  }
  processes.add(launched)
  return launched
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

/** The watch of a server in another process has its own clock; all there is to do here is to look. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(10)
}
