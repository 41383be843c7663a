import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import { openPayer, type Payer } from '#tests/support/gateway/payer.ts'
import type { ServerProcess } from '#tests/support/gateway/serve-process.ts'
import { childrenOf, signalAll } from '#tests/support/processes.ts'
import { type RedisServer, startRedisServer } from '#tests/support/stores/redis.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { createUser } from '@/console/sign-in/links.ts'
import { createPasswords } from '@/console/sign-in/passwords.ts'
import { MODELS, PAYERS, type Shape } from './plan.ts'
import { type WholeUpstream, wholeUpstream } from './upstream.ts'

/** Gateways of one shape with all that is around them; one seed after the other uses it, with payers of its own. */
export interface World {
  shape: Shape
  fleet: Fleet
  upstream: WholeUpstream
  redis: RedisServer | undefined
  /** Price lists in the order in which they were applied; each may hold from its time on, by performance.now(). */
  lists: { list: number; from: number }[]
  /** Asks the console of some gateway as its administrator would, again until there is an answer. */
  administer(method: string, path: string, body?: object): Promise<{ status: number; text: string }>
  /** Applies the file again with other prices, and without one of the models. */
  applyFile(list: number, off: string | undefined): Promise<void>
  /** What had to be ended and replaced is back. */
  whole(): Promise<void>
  /** Ends a gateway, workers included, and has another in its place. */
  end(index: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<ServerProcess | undefined>
  /** Some gateway that runs. */
  someGateway(): Promise<ServerProcess>
  close(): Promise<void>
}

/** A payer's keys; the second one may be revoked. */
export interface TwoKeyed extends Payer {
  keys: [{ id: number; key: string }, { id: number; key: string }]
}

export async function openWorld(shape: Shape): Promise<World> {
  const upstream = wholeUpstream()
  const redis = shape.hasRedis ? await startRedisServer() : undefined
  const fleet = await startFleet({
    gateways: shape.gateways,
    config: configOf(upstream.url, 0, undefined),
    env: {
      WORKERS: `${shape.workers}`,
      ...(redis && { REDIS_URL: redis.url }),
    },
  })
  const { database } = fleet
  const email = 'admin@example.com'
  const password = 'a good password'
  const passwordHash = await createPasswords({ memoryCost: 1024, timeCost: 1 }).hash(password)
  await database.orm.transaction(tx => createUser(tx, { email, passwordHash, role: 'owner' }))
  const replaced = new Map<number, Promise<unknown>>()
  let turn = 0
  let cookie = ''

  const world: World = {
    shape,
    fleet,
    upstream,
    redis,
    lists: [{ list: 0, from: 0 }],
    async administer(method, path, body) {
      for (;;) {
        const { consoleUrl } = await world.someGateway()
        try {
          const response = await fetch(consoleUrl + path, {
            method,
            headers: { origin: new URL(consoleUrl).origin, cookie, 'content-type': 'application/json' },
            ...(body !== undefined && { body: JSON.stringify(body) }),
            signal: AbortSignal.timeout(10_000),
          })
          const text = await response.text()
          cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
          if (response.status < 500) return { status: response.status, text }
        } catch {
          // The gateway is gone, and what it was asked may be done or not.
        }
        await Bun.sleep(100)
      }
    },
    async applyFile(list, off) {
      world.lists.push({ list, from: performance.now() })
      for (const { dataDir } of fleet.gateways) {
        await Bun.write(`${dataDir}/tollgate.yaml`, configOf(upstream.url, list, off))
      }
      for (const gateway of fleet.running()) gateway.kill('SIGHUP')
    },
    async whole() {
      await Promise.all(replaced.values())
    },
    async end(index, signal) {
      await replaced.get(index)
      const gateway = fleet.gateways[index]
      const workers = gateway === undefined ? [] : childrenOf(gateway.pid)
      const { dead, replaced: again } = fleet.kill(index, signal)
      if (signal === 'SIGKILL') signalAll(workers, signal)
      replaced.set(index, again)
      await dead
      return gateway
    },
    async someGateway() {
      while (fleet.running().length === 0) await Bun.sleep(50)
      turn += 1
      const running = fleet.running()
      return running[turn % running.length] ?? world.someGateway()
    },
    async close() {
      await fleet.close()
      await upstream.stop()
      await redis?.close()
    },
  }
  const { status, text } = await world.administer('POST', '/api/session', { email, password })
  if (status !== 200) throw new Error(`the administrator cannot sign in: ${text}`)
  return world
}

export async function openPayers({ fleet: { database }, administer }: World): Promise<TwoKeyed[]> {
  return Promise.all(
    PAYERS.map(async payer => {
      const cap = 'capNano' in payer ? { amountNano: payer.capNano, period: 'total' as const } : undefined
      const opened = await openPayer(database, { ...payer, cap })
      const { accountId, keyId, key } = opened
      const second = await keyStore(database).createKey({ accountId, name: 'second' })
      if ('limits' in payer) {
        await administer('PATCH', `/api/admin/accounts/${accountId}/limits`, payer.limits)
      }
      return { ...opened, keys: [{ id: keyId, key }, second] }
    }),
  )
}

const FORMATS = {
  chat: 'openai-chat-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'gemini-generate-content',
}

/** What a token of prompt and of the answer costs by a price list, and a picture, in nano. */
export function ratesOf(list: number): { input: number; output: number; picture: number } {
  return { input: 1_000 * (1 + list), output: 2_000 * (1 + list), picture: 100_000 * (1 + list) }
}

/** Of each format a channel, and two of Chat Completions: one of them is the other way for every model. */
function configOf(url: string, list: number, off: string | undefined): string {
  const rates = ratesOf(list)
  const timeouts = '{ connect_ms: 5000, first_byte_ms: 2500, idle_ms: 2000 }'
  const channel = (name: string, format: string, priority: number) =>
    `  - { name: ${name}, format: ${format}, base_url: "${url}", api_keys: ["secret-of-${name}"], allow_private: true, priority: ${priority}, timeouts: ${timeouts} }`
  const model = (id: string, channels: readonly string[], prices: string) =>
    `  - { id: ${id}, channels: [${channels.map(name => `{ channel: ${name}, model: m }`).join(', ')}], prices: ${prices}${id === off ? ', enabled_by_default: false' : ''} }`
  const ample = '{ requests_per_minute: 100000, tokens_per_minute: 1000000000, concurrent_requests: 1000 }'
  return `channels:
${Object.entries(FORMATS)
  .map(([name, format]) => channel(name, format, 0))
  .join('\n')}
${channel('other', FORMATS.chat, 1)}
models:
${MODELS.map(id => model(id, [id, 'other'], `{ input: ${rates.input / 1000}, output: ${rates.output / 1000} }`)).join('\n')}
${model('embed', ['chat', 'other'], `{ input: ${rates.input / 1000} }`)}
${model('picture', ['chat', 'other'], `{ per_image: { default: ${rates.picture / 1e9} } }`)}
limits:
  account: ${ample}
  key: ${ample}
`
}
