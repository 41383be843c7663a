import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endsWithTests } from '#tests/support/leftovers.ts'
import { freePort, hasRedisServer, startRedisServer } from '#tests/support/stores/redis.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { openRedis, redisScript } from '@/redis/redis.ts'
import { sentinelsOf } from '@/redis/sentinel.ts'
import { openSubscription } from '@/redis/subscription.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const WRITE = redisScript("return redis.call('set', KEYS[1], ARGV[1]).ok")
const TELL = redisScript("return redis.call('publish', KEYS[1], ARGV[1])")
/** Of a machine that is busy nobody can expect an answer within the usual 50 ms. */
const PATIENT = { commandTimeoutMs: 10_000 }

test.each([
  ['redis://one', undefined],
  ['redis://one,redis://two', undefined],
  [
    'redis+sentinel://one,two:5/main',
    {
      name: 'main',
      db: 0,
      sentinels: [
        { host: 'one', port: 26379 },
        { host: 'two', port: 5 },
      ],
    },
  ],
  [
    'rediss+sentinel://:p%40ss@[::1]/main/3',
    {
      name: 'main',
      db: 3,
      sentinels: [{ host: '::1', port: 26379 }],
      password: 'p@ss',
      sentinelPassword: 'p@ss',
      tls: {},
      sentinelTLS: {},
      enableTLSForSentinelMode: true,
    },
  ],
  [
    'redis+sentinel://tollgate:secret@one/main',
    {
      name: 'main',
      db: 0,
      sentinels: [{ host: 'one', port: 26379 }],
      username: 'tollgate',
      password: 'secret',
    },
  ],
])('%s', (url, expected) => {
  expect(sentinelsOf(url)).toEqual(expected)
})

if (!hasRedisServer) {
  test('LOUD: Redis Sentinel was NOT tested, there is no redis-server', () => {
    console.error('\n*** redis: no redis-server here, so Sentinel was not tested ***\n')
  })
} else {
  /** A sentinel that watches a server by the name `main`. */
  const startSentinel = async (masterUrl: string) => {
    const directory = mkdtempSync(join(tmpdir(), 'tollgate-sentinel-'))
    const port = await freePort()
    const file = join(directory, 'sentinel.conf')
    await Bun.write(
      file,
      `port ${port}
bind 127.0.0.1
sentinel monitor main 127.0.0.1 ${new URL(masterUrl).port} 1
sentinel down-after-milliseconds main 500
`,
    )
    const child = Bun.spawn(['redis-server', file, '--sentinel', '--dir', directory], {
      stdout: 'ignore',
      stderr: 'ignore',
    })
    endsWithTests(child)
    const cli = (...words: string[]) =>
      Bun.$`redis-cli -h 127.0.0.1 -p ${port} ${words}`.quiet().nothrow().text()
    await until(async () => (await cli('ping')) === 'PONG\n')
    return {
      host: `127.0.0.1:${port}`,
      cli,
      /** Connections to it stand, and nothing is answered. */
      pause: () => child.kill('SIGSTOP'),
      async close() {
        child.kill('SIGKILL')
        await child.exited
        rmSync(directory, { recursive: true, force: true })
      },
    }
  }

  test('sentinels lead to the primary, and after a failover to the next one', async () => {
    const [first, second] = [await startRedisServer(), await startRedisServer()]
    await Bun.$`redis-cli -u ${second.url} replicaof 127.0.0.1 ${new URL(first.url).port}`.quiet()
    const sentinel = await startSentinel(first.url)
    await until(async () =>
      /\bslave0:/.test(await Bun.$`redis-cli -u ${first.url} info replication`.quiet().text()),
    )
    const url = `redis+sentinel://127.0.0.1:1,${sentinel.host}/main`
    const redis = openRedis(url, PATIENT)
    expect(await redis.whenReady(30_000)).toBe(true)
    const heard: string[] = []
    const subscription = openSubscription(url, 'news', { onMessage: message => heard.push(message) })
    await subscription.listening
    await redis.run(WRITE, ['k'], ['first'])
    expect(await Bun.$`redis-cli -u ${first.url} get k`.text()).toBe('first\n')

    await until(async () => (await sentinel.cli('sentinel', 'replicas', 'main')).includes('name'))
    await sentinel.cli('sentinel', 'failover', 'main')
    const writes = (value: string) =>
      redis.run(WRITE, ['k'], [value]).then(
        () => true,
        () => false,
      )
    await until(async () => {
      await writes('second')
      return (await Bun.$`redis-cli -u ${second.url} get k`.text()) === 'second\n'
    })
    await until(async () => {
      await redis.run(TELL, ['news'], ['told']).catch(() => undefined)
      return heard.includes('told')
    })
    subscription.close()
    await redis.close()
    await Promise.all([sentinel.close(), first.close(), second.close()])
  }, 60_000)

  test('a name that the sentinels do not know is told', async () => {
    const server = await startRedisServer()
    const sentinel = await startSentinel(server.url)
    const redis = openRedis(`redis+sentinel://${sentinel.host}/other`)
    await until(() => redis.failure() !== undefined)
    expect(redis.failure()?.message).toContain('No such master with that name')
    await redis.close()
    await Promise.all([sentinel.close(), server.close()])
  })

  test('a sentinel that does not answer is passed over, and keeps no process from its end', async () => {
    const server = await startRedisServer()
    const [frozen, sentinel] = [await startSentinel(server.url), await startSentinel(server.url)]
    frozen.pause()
    const redis = openRedis(`redis+sentinel://${frozen.host},${sentinel.host}/main`)
    expect(await redis.whenReady(30_000)).toBe(true)
    await redis.close()

    const program = `
      import { openRedis } from '@/redis/redis.ts'
      const redis = openRedis('redis+sentinel://${frozen.host}/main')
      await redis.whenReady(200)
      await redis.close()
    `
    const child = Bun.spawn([process.execPath, '-e', program], { cwd: ROOT, timeout: 40_000 })
    expect(await child.exited).toBe(0)
    await Promise.all([frozen.close(), sentinel.close(), server.close()])
  }, 60_000)

  test('is in no other database than the one of its address', async () => {
    const server = await startRedisServer()
    const sentinel = await startSentinel(server.url)
    const redis = openRedis(`redis+sentinel://${sentinel.host}/main/3`, PATIENT)
    expect(await redis.whenReady(30_000)).toBe(true)
    expect(await redis.run(WRITE, ['k'], ['a'])).toBe('OK')
    expect(await Bun.$`redis-cli -u ${server.url}/3 get k`.text()).toBe('a\n')
    await redis.close()

    const lost = openRedis(`redis+sentinel://${sentinel.host}/main/99`)
    await until(() => lost.failure()?.message.includes('DB index is out of range') === true)
    expect(await lost.whenReady(1_000)).toBe(false)
    await expect(lost.run(WRITE, ['other'], ['a'])).rejects.toThrow('DB index is out of range')
    await lost.close()
    expect(await Bun.$`redis-cli -u ${server.url} dbsize`.text()).toBe('0\n')
    await Promise.all([sentinel.close(), server.close()])
  }, 60_000)

  test('the reason is what the primary says, whatever a sentinel before it did not', async () => {
    const server = await startRedisServer()
    const sentinel = await startSentinel(server.url)
    const errors: string[] = []
    const redis = openRedis(`redis+sentinel://somebody:wrong@127.0.0.1:1,${sentinel.host}/main`, {
      onError: ({ message }) => errors.push(message),
    })
    await until(() => redis.failure()?.message.includes('WRONGPASS') === true)
    // At each further attempt as well.
    const told = errors.length
    const reasons = new Set<string | undefined>()
    await until(() => {
      reasons.add(redis.failure()?.message)
      return errors.slice(told).filter(message => message.includes('WRONGPASS')).length > 1
    })
    expect(errors.some(message => message.includes('failed to connect to sentinel 127.0.0.1:1'))).toBe(true)
    expect([...reasons]).toEqual([expect.stringContaining('WRONGPASS')])
    await redis.close()
    await Promise.all([sentinel.close(), server.close()])
  }, 60_000)

  test('of sentinels that cannot be reached the reason is the latest one', async () => {
    const server = await startRedisServer()
    const sentinel = await startSentinel(server.url)
    const redis = openRedis(`redis+sentinel://${sentinel.host}/other`)
    await until(() => redis.failure()?.message.includes('No such master with that name') === true)
    await sentinel.close()
    await until(() => redis.failure()?.message.includes('Connection is closed') === true)
    await redis.close()
    await server.close()
  }, 60_000)
}
