import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import { openPayer, type Payer } from '#tests/support/gateway/payer.ts'
import type { ServerProcess } from '#tests/support/gateway/serve-process.ts'
import { childrenOf, signalAll } from '#tests/support/processes.ts'
import { type RedisServer, startRedisServer } from '#tests/support/stores/redis.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { createUser } from '@/console/sign-in/links.ts'
import { createPasswords } from '@/console/sign-in/passwords.ts'
import { type Catalog, CHANNELS, MODELS, PAYERS, type Shape } from './plan.ts'
import { openVendor, type Vendor } from './upstream.ts'

/** A file that was applied; times by performance.now(). */
interface AppliedFile extends Catalog {
  /** It may hold from then on. */
  from: number
  /** When it, or a newer one, was seen to hold everywhere: nothing older does any more. */
  heldAt: number
}

/** Gateways of one shape with all that is around them; one seed after the other uses it, with payers of its own. */
export interface World {
  shape: Shape
  fleet: Fleet
  upstream: Vendor
  redis: RedisServer | undefined
  /** What was applied, in that order. */
  applied: AppliedFile[]
  /** Asks the console of some gateway as its administrator would, again until there is an answer. */
  administer(method: string, path: string, body?: object): Promise<{ status: number; text: string }>
  /** Applies the file again, as it is to be now. */
  applyFile(catalog: Catalog): Promise<void>
  /** Applies it with all that it can have and the last prices, and says whether callers find that it holds everywhere. */
  offerAll(): Promise<boolean>
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
const OFFERS = 6
/** Gateways read the catalog every 30 s: who is not told of a new file finds one of them in time, and not the next. */
const IN_A_ROW = 2
/** Of several workers that share a port, each answers some of so many. */
const ASKED_OF_WORKERS = 12
const LOOK_MS = 100

const FIRST: Catalog = { list: 0, off: undefined, shut: undefined }

export async function openWorld(shape: Shape): Promise<World> {
  const upstream = openVendor()
  const redis = shape.hasRedis ? await startRedisServer() : undefined
  const fleet = await startFleet({
    gateways: shape.gateways,
    config: configOf(upstream.url, FIRST, 0),
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
  const { key: asker } = await openPayer(database)
  /** Until it is known to hold everywhere, or something newer. */
  const watch = async (file: AppliedFile) => {
    while (!isClosed && !Number.isFinite(file.heldAt)) {
      await Bun.sleep(LOOK_MS)
      const asked = fleet.gateways.flatMap(({ apiUrl }) =>
        Array.from({ length: shape.workers === 1 ? 1 : ASKED_OF_WORKERS }, () => fileOf(apiUrl, asker)),
      )
      const isHeld = (await Promise.all(asked)).every(from => from >= file.from)
      if (isHeld) file.heldAt = performance.now()
    }
  }
  let isClosed = false
  const replaced = new Map<number, Promise<unknown>>()
  let turn = 0
  let cookie = ''

  const world: World = {
    shape,
    fleet,
    upstream,
    redis,
    applied: [{ ...FIRST, from: 0, heldAt: 0 }],
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
    async applyFile({ list, off, shut }) {
      const from = performance.now()
      const file = { list, off, shut, from, heldAt: Number.POSITIVE_INFINITY }
      world.applied.push(file)
      for (const { dataDir } of fleet.gateways) {
        const text = configOf(upstream.url, file, from)
        await Bun.write(`${dataDir}/tollgate.yaml`, text)
      }
      // The others hear of it. If all were told, one that is slow could put an older file over a newer one.
      fleet.running()[0]?.kill('SIGHUP')
      void watch(file)
    },
    async offerAll() {
      const { list = 0 } = world.applied.at(-1) ?? {}
      let inARow = 0
      for (let offers = 0; offers < OFFERS && inARow < IN_A_ROW; offers += 1) {
        await world.applyFile({ ...FIRST, list })
        const file = world.applied.at(-1)
        const givesUpAt = performance.now() + OFFERED_MS
        const isHeld = () => Number.isFinite(file?.heldAt)
        while (!isHeld() && performance.now() < givesUpAt) await Bun.sleep(LOOK_MS)
        inARow = isHeld() ? inARow + 1 : 0
      }
      return inARow === IN_A_ROW
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
      isClosed = true
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

/** Of when the file is that a gateway, or one of its workers, goes by; -1 if it does not answer. */
async function fileOf(apiUrl: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  try {
    const text = await (await fetch(`${apiUrl}/v1/models`, { headers, keepalive: false })).text()
    return Number(/"at-([\d.]+)"/.exec(text)?.[1] ?? -1)
  } catch {
    return -1
  }
}

/** Each of the plan, and the one that makes films, which is always there: nobody else could follow those. */
const FORMATS: Record<(typeof CHANNELS)[number] | 'films', string> = {
  chat: 'openai-chat-completions',
  other: 'openai-chat-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'gemini-generate-content',
  films: 'openai-responses',
}

/** What a token of prompt and of the answer costs by a price list, a picture, and a second of a film, in nano. */
export function ratesOf(list: number) {
  const times = 1 + list
  return { input: 1_000 * times, output: 2_000 * times, picture: 100_000 * times, filmSecond: 25_000 * times }
}

/**
 * Of each format a channel, and two of Chat Completions: one of them is the other way for every model.
 *
 * @param from told to callers as the owner of a model, by which they know which file holds
 */
function configOf(url: string, { list, off, shut }: Catalog, from: number): string {
  const rates = ratesOf(list)
  const timeouts = '{ connect_ms: 5000, first_byte_ms: 2500, idle_ms: 2000 }'
  const channel = (name: keyof typeof FORMATS) =>
    `  - { name: ${name}, format: ${FORMATS[name]}, base_url: "${url}", api_keys: ["secret-of-${name}"], allow_private: true, priority: ${name === 'other' ? 1 : 0}, timeouts: ${timeouts} }`
  const model = (id: string, channels: readonly string[], prices: string) =>
    `  - { id: ${id}, owned_by: at-${from}, channels: [${channels
      .filter(name => name !== shut)
      .map(name => `{ channel: ${name}, model: m }`)
      .join(', ')}], prices: ${prices}${id === off ? ', enabled_by_default: false' : ''} }`
  const ample = '{ requests_per_minute: 100000, tokens_per_minute: 1000000000, concurrent_requests: 1000 }'
  return `channels:
${CHANNELS.filter(name => name !== shut)
  .map(channel)
  .join('\n')}
${channel('films')}
models:
${MODELS.map(id => model(id, [id, 'other'], `{ input: ${rates.input / 1000}, output: ${rates.output / 1000} }`)).join('\n')}
${model('embed', ['chat', 'other'], `{ input: ${rates.input / 1000} }`)}
${model('picture', ['chat', 'other'], `{ per_image: { default: ${rates.picture / 1e9} } }`)}
${model('film', ['films'], `{ per_video_second: ${rates.filmSecond / 1e9} }`)}
limits:
  account: ${ample}
  key: ${ample}
`
}
