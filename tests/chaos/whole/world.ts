import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import { openPayer, type Payer } from '#tests/support/gateway/payer.ts'
import type { ServerProcess } from '#tests/support/gateway/serve-process.ts'
import { childrenOf, signalAll } from '#tests/support/processes.ts'
import { type RedisServer, startRedisServer } from '#tests/support/stores/redis.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { createUser } from '@/console/sign-in/links.ts'
import { createPasswords } from '@/console/sign-in/passwords.ts'
import { MODELS, PAYERS, type Shape } from './plan.ts'
import { openVendor, type Vendor } from './upstream.ts'

/** Gateways of one shape with all that is around them; one seed after the other uses it, with payers of its own. */
export interface World {
  shape: Shape
  fleet: Fleet
  upstream: Vendor
  redis: RedisServer | undefined
  /** What was applied, in that order; each may hold from its time on, by performance.now(). */
  applied: { list: number; off: string | undefined; from: number }[]
  /** Asks the console of some gateway as its administrator would, again until there is an answer. */
  administer(method: string, path: string, body?: object): Promise<{ status: number; text: string }>
  /** Applies the file again with other prices, and without one of the models. */
  applyFile(list: number, off: string | undefined): Promise<void>
  /** Applies it with every model and the last prices, and says whether a caller with this key finds that it holds everywhere. */
  offerAll(key: string): Promise<boolean>
  /** What had to be ended and replaced is back. */
  restored(): Promise<void>
  /** Ends a gateway, workers included, and has another in its place. Tells which one it was, and when. */
  end(
    index: number,
    signal: 'SIGKILL' | 'SIGTERM',
  ): Promise<{ gateway: ServerProcess | undefined; at: number }>
  /** Some gateway that runs. */
  someGateway(): Promise<ServerProcess>
  close(): Promise<void>
}

/** A payer's keys; the second one may be revoked. */
export interface TwoKeyed extends Payer {
  keys: [{ id: number; key: string }, { id: number; key: string }]
}

/** A file is applied again if it does not hold within this: Postgres may have been away. */
const OFFERED_MS = 10_000
const OFFERS = 5
/** Of two workers that share a port, each answers some of so many. */
const ASKED_OF_EACH = 6

export async function openWorld(shape: Shape): Promise<World> {
  const upstream = openVendor()
  const redis = shape.hasRedis ? await startRedisServer() : undefined
  const fleet = await startFleet({
    gateways: shape.gateways,
    config: configOf(upstream.url, { list: 0, off: undefined, mark: 'first' }),
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
    applied: [{ list: 0, off: undefined, from: 0 }],
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
      const from = performance.now()
      world.applied.push({ list, off, from })
      for (const { dataDir } of fleet.gateways) {
        await Bun.write(`${dataDir}/tollgate.yaml`, configOf(upstream.url, { list, off, mark: `at-${from}` }))
      }
      for (const gateway of fleet.running()) gateway.kill('SIGHUP')
    },
    async offerAll(key) {
      const { list = 0 } = world.applied.at(-1) ?? {}
      for (let tries = 0; tries < OFFERS; tries += 1) {
        await world.applyFile(list, undefined)
        const { from = 0 } = world.applied.at(-1) ?? {}
        const isOffered = async () => {
          await Bun.sleep(100)
          const asked = fleet.gateways.flatMap(({ apiUrl }) =>
            Array.from({ length: ASKED_OF_EACH * shape.workers }, () => modelsOf(apiUrl, key)),
          )
          return (await Promise.all(asked)).every(text => text.includes(`"at-${from}"`))
        }
        const isHeld = await until(isOffered, OFFERED_MS).then(
          () => true,
          () => false,
        )
        if (!isHeld) continue
        // From now on nothing older holds.
        world.applied = world.applied.slice(-1)
        return true
      }
      return false
    },
    async restored() {
      await Promise.all(replaced.values())
    },
    async end(index, signal) {
      for (let known: unknown; known !== replaced.get(index); await known) known = replaced.get(index)
      const gateway = fleet.gateways[index]
      const workers = gateway === undefined ? [] : childrenOf(gateway.pid)
      const at = performance.now()
      const { dead, replaced: again } = fleet.kill(index, signal)
      if (signal === 'SIGKILL') signalAll(workers, signal)
      replaced.set(index, again)
      await dead
      return { gateway, at }
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

/** What a gateway, or one of its workers, offers; nothing if it does not answer. */
async function modelsOf(apiUrl: string, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}` }
  try {
    return await (await fetch(`${apiUrl}/v1/models`, { headers, keepalive: false })).text()
  } catch {
    return ''
  }
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

/**
 * Of each format a channel, and two of Chat Completions: one of them is the other way for every model.
 *
 * @param mark told to callers as the owner of a model, by which they know which file holds
 */
function configOf(
  url: string,
  { list, off, mark }: { list: number; off: string | undefined; mark: string },
): string {
  const rates = ratesOf(list)
  const timeouts = '{ connect_ms: 5000, first_byte_ms: 2500, idle_ms: 2000 }'
  const channel = (name: string, format: string, priority: number) =>
    `  - { name: ${name}, format: ${format}, base_url: "${url}", api_keys: ["secret-of-${name}"], allow_private: true, priority: ${priority}, timeouts: ${timeouts} }`
  const model = (id: string, channels: readonly string[], prices: string) =>
    `  - { id: ${id}, owned_by: ${mark}, channels: [${channels.map(name => `{ channel: ${name}, model: m }`).join(', ')}], prices: ${prices}${id === off ? ', enabled_by_default: false' : ''} }`
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
