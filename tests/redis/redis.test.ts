import { describe, expect, test } from 'bun:test'
import { connect, createServer } from 'node:net'
import { ask, granted, refused } from '#tests/limits/limited.ts'
import { least, msOf } from '#tests/support/least.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import {
  connectRedis,
  hasRedisServer,
  onRedisServer,
  type RedisServer,
  startRedisServer,
} from '#tests/support/stores/redis.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { openLimiter } from '@/limits/limiter.ts'
import { openRedis, RedisTimeout, redisScript } from '@/redis/redis.ts'
import { redisSharing } from '@/routing/health/redis-sharing.ts'
import { createLog } from '@/telemetry/log.ts'

const WRITE = redisScript("return redis.call('set', KEYS[1], ARGV[1]).ok")
const ECHO = redisScript('return { KEYS[1], ARGV[1] }')

if (!hasRedisServer) {
  test('LOUD: connections to Redis were NOT tested, there is no redis-server', () => {
    console.error('\n*** redis: no redis-server here, so its loss and its return were not tested ***\n')
  })
} else {
  onRedisServer('runs a script that Redis does not know, and again after it forgot it', async server => {
    const redis = await connectRedis(server.url)
    expect(await redis.run(ECHO, ['k'], ['a'])).toEqual(['k', 'a'])
    await Bun.$`redis-cli -u ${server.url} script flush`.quiet()
    expect(await redis.run(ECHO, ['k'], ['b'])).toEqual(['k', 'b'])
    await redis.close()
  })

  onRedisServer('fails at once while Redis is away, and works when it is back', async server => {
    const errors: Error[] = []
    const redis = await connectRedis(server.url, { onError: error => errors.push(error) })
    await server.kill()
    expect(await redis.ping()).toBe(false)
    const fail = () => msOf(() => expect(redis.run(ECHO, ['k'], ['a'])).rejects.toThrow())
    expect(await least(50, fail)).toBeLessThan(50)
    await server.restart()
    expect(await redis.whenReady(30_000)).toBe(true)
    expect(await redis.run(ECHO, ['k'], ['b'])).toEqual(['k', 'b'])
    expect(errors.every(error => error instanceof Error)).toBe(true)
    await redis.close()
  })

  onRedisServer(
    'connects anew to where its address leads by now, once a server has become a copy',
    async server => {
      const promoted = await startRedisServer()
      let target = server.url
      const proxy = createServer(socket => {
        const upstream = connect(Number(new URL(target).port), '127.0.0.1')
        for (const end of [socket, upstream]) end.on('error', () => end.destroy())
        socket.pipe(upstream).pipe(socket)
      })
      const listening = Promise.withResolvers<void>()
      proxy.listen(0, '127.0.0.1', listening.resolve)
      await listening.promise
      const address = proxy.address()
      const redis = await connectRedis(`redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
      expect(await redis.run(WRITE, ['k'], ['a'])).toBe('OK')
      target = promoted.url
      await Bun.$`redis-cli -u ${server.url} replicaof 127.0.0.1 ${new URL(promoted.url).port}`.quiet()
      await expect(redis.run(WRITE, ['k'], ['b'])).rejects.toThrow('READONLY')
      await until(() =>
        redis.run(WRITE, ['k'], ['c']).then(
          () => true,
          () => false,
        ),
      )
      await redis.close()
      proxy.close()
      await promoted.close()
    },
  )

  onRedisServer('fails with what the server says to whom it does not let in', async server => {
    const redis = await connectRedis(server.url)
    await Bun.$`redis-cli -u ${server.url} config set requirepass another`.quiet()
    await Bun.$`redis-cli -u ${server.url} -a another client kill type normal`.quiet()
    const reason = () => redis.run(ECHO, ['k'], ['a']).then(() => '', String)
    await until(async () => (await reason()).includes('NOAUTH'))
    await redis.close()
  })

  describe.each(['single', 'cluster'] as const)('of one that lets nobody in, %s', kind => {
    const address = ({ url }: RedisServer) => {
      const withPassword = url.replace('//', '//somebody:hunter2@')
      return kind === 'single' ? withPassword : `${withPassword},${withPassword}`
    }
    onRedisServer(
      'the log has what it says, and no password',
      async server => {
        const lines: string[] = []
        const log = createLog({ level: 'debug', format: 'json' }, { write: line => lines.push(line) })
        const redis = openRedis(address(server), { onError: err => log.warn({ err }, 'redis') })
        await until(() => lines.length > 0)
        await expect(redis.run(ECHO, ['k'], ['a'])).rejects.toThrow()
        log.warn({ err: redis.failure() }, 'Redis is away')
        await redis.close()
        const text = lines.join('')
        expect(text).toContain('WRONGPASS')
        expect(text).not.toContain('hunter2')
      },
      kind,
    )
  })

  onRedisServer('gives up on a Redis that does not answer', async server => {
    const redis = await connectRedis(server.url, { commandTimeoutMs: 50 })
    server.pause()
    await expect(redis.run(ECHO, ['k'], ['a'])).rejects.toBeInstanceOf(RedisTimeout)
    expect(await redis.ping()).toBe(false)
    server.resume()
    await redis.close()
  })

  const limitsHold = async (url: string) => {
    const redis = await connectRedis(url)
    const limiter = await openLimiter({
      redis,
      clock: manualClock(),
      log: { info: () => {}, warn: () => {} },
    })
    const request = ask({
      tokens: 10,
      accountLimits: { requestsPerMinute: 2, tokensPerMinute: 100, concurrentRequests: 2 },
      accountModelLimits: { tokensPerMinute: 100 },
      modelLimits: { requestsPerMinute: 100 },
    })
    const { lease, degraded } = granted(await limiter.take({ ...request, id: 'a' }))
    expect(degraded).toBe(false)
    await limiter.renewAll()
    await limiter.end(lease, 5)
    granted(await limiter.take({ ...request, id: 'b' }))
    expect(refused(await limiter.take({ ...request, id: 'c' })).bucket).toEqual({
      scope: 'account',
      kind: 'requests',
    })
    expect(limiter.isDegraded).toBe(false)
    await limiter.close()
    await redis.close()
  }
  onRedisServer(
    'limits work on a cluster: no call needs two slots',
    server => limitsHold(`${server.url},${server.url}`),
    'cluster',
  )

  const newsArrives = async (url: string) => {
    const redis = await connectRedis(url)
    const [teller, hearer] = ['teller', 'hearer'].map(origin => redisSharing({ url, redis, origin }))
    const heard = Promise.withResolvers<void>()
    hearer?.subscribe(() => heard.resolve())
    await hearer?.listening
    teller?.publish({
      channelId: 1,
      key: undefined,
      model: undefined,
      cause: 'failing',
      pauseMs: 1,
      reason: '',
    })
    await heard.promise
    await Promise.all([teller?.close(), hearer?.close()])
    await redis.close()
  }

  describe.each(['single', 'cluster'] as const)('as a user of its own, %s', kind => {
    onRedisServer(
      'may do all that limits and news need by the rules that docs/deployment.md names',
      async server => {
        const page = await Bun.file(new URL('../../docs/deployment.md', import.meta.url)).text()
        const rules = /needs `(~tollgate:[^`]+)`/.exec(page)?.[1]?.split(' ') ?? []
        await Bun.$`redis-cli -u ${server.url} acl setuser tollgate ${['on', '>hunter2', ...rules]}`.quiet()
        const url = server.url.replace('//', '//tollgate:hunter2@')
        const address = kind === 'single' ? url : `${url},${url}`
        await limitsHold(address)
        await newsArrives(address)
        const refused = await Bun.$`redis-cli -u ${server.url} acl log`.text()
        expect(refused.trim()).toBe('')
      },
      kind,
    )
  })

  onRedisServer('is in no other database than the one of its address', async server => {
    const redis = await connectRedis(`${server.url}/3`)
    expect(await redis.run(WRITE, ['k'], ['a'])).toBe('OK')
    expect(await Bun.$`redis-cli -u ${server.url}/3 get k`.text()).toBe('a\n')
    await redis.close()

    const lost = openRedis(`${server.url}/99`)
    await until(() => lost.failure()?.message.includes('DB index is out of range') === true)
    expect(await lost.whenReady(1_000)).toBe(false)
    await expect(lost.run(WRITE, ['other'], ['a'])).rejects.toThrow('DB index is out of range')
    await lost.close()
    expect(await Bun.$`redis-cli -u ${server.url} dbsize`.text()).toBe('0\n')
  })

  test('what is asked before a server has answered at all fails at once, and is never sent', async () => {
    let heard = ''
    const silent = createServer(socket => {
      socket.on('error', () => socket.destroy())
      socket.on('data', chunk => {
        heard += chunk.toString()
      })
    })
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    const address = silent.address()
    const url = `redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const redis = openRedis(url, { commandTimeoutMs: 10_000 })
    await until(() => heard.toLowerCase().includes('info'))
    await expect(redis.run(ECHO, ['k'], ['a'])).rejects.toThrow('writeable')
    await redis.close()
    silent.close()
    expect(heard.toLowerCase()).not.toContain('eval')
  })

  onRedisServer(
    'says of a connection that stood that it was lost, not what was wrong before',
    async server => {
      await Bun.$`redis-cli -u ${server.url} config set requirepass word`.quiet()
      const redis = openRedis(server.url)
      await until(() => redis.failure()?.message.startsWith('NOAUTH') === true)
      await Bun.$`redis-cli -u ${server.url} -a word config set requirepass ${''}`.quiet()
      expect(await redis.whenReady(30_000)).toBe(true)
      await server.kill()
      await until(() => redis.failure() !== undefined)
      expect(redis.failure()?.message).toMatch(/^the connection was lost$|ECONNREFUSED/)
      await redis.close()
    },
  )

  onRedisServer('says of a server without TLS what rediss: asks of it', async server => {
    const redis = openRedis(server.url.replace('redis:', 'rediss:'))
    expect(redis.failure()?.message).toContain('no connection yet (rediss: asks for TLS')
    await until(() => redis.failure()?.message.startsWith('connect ETIMEDOUT') === true)
    expect(redis.failure()?.message).toContain('(rediss: asks for TLS')
    await redis.close()
  })

  onRedisServer(
    'says of one node of a cluster how REDIS_URL names that',
    async node => {
      const owner = await startRedisServer('cluster')
      const { port } = new URL(owner.url)
      const bus = (await Bun.$`redis-cli -u ${owner.url} --raw config get cluster-port`.text()).split('\n')[1]
      await Bun.$`redis-cli -u ${node.url} cluster flushslots`.quiet()
      await Bun.$`redis-cli -u ${node.url} cluster meet 127.0.0.1 ${port} ${bus}`.quiet()
      const state = () => Bun.$`redis-cli -u ${node.url} cluster info`.text()
      await until(async () => (await state()).includes('cluster_state:ok'))
      const redis = await connectRedis(node.url)
      await expect(redis.run(ECHO, ['k'], ['a'])).rejects.toThrow(
        /^MOVED .*REDIS_URL has to name some of them, or the one twice, with commas between/,
      )
      await redis.close()
      await owner.close()
    },
    'cluster',
  )

  test('says so when there is nothing to connect to', async () => {
    const redis = openRedis('redis://127.0.0.1:1')
    await until(() => redis.failure()?.message.includes('ECONNREFUSED') === true)
    expect(await redis.whenReady(50)).toBe(false)
    expect(await redis.ping()).toBe(false)
    await redis.close()
  })
}
