import type { ApiKey, LimitChanges, SpendCap } from '@/accounts/account.ts'
import { keyStore, type NewKey } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { keySpending } from '@/ledger/store.ts'
import { isRange } from '@/net/ip-range.ts'
import { parseMoney } from '@/pricing/money.ts'
import { keyRevision, keyRow, limitChangesOf } from '../accounts/key-rows.ts'
import { reachedModels } from '../accounts/reach.ts'
import type { Console } from '../deployment.ts'
import { invalid, notFound } from '../failure.ts'
import { keyLabel, keyLabels } from '../key-labels.ts'
import { MadeOnce } from '../made-once.ts'
import { readExpiry } from '../moments.ts'
import { cursorId, cursorOf, type Page, readPage } from '../paging.ts'
import { refuseOverwriting } from '../revision.ts'
import { type Key, keyRoutes, type NewKey as NewKeyBody } from './contract/keys.ts'
import { controller, type Listener } from './controller.ts'

/** An account holder's keys. */
export function keysApi(console: Console, listener: Listener) {
  const keys = keyStore(console.database)
  const created = new MadeOnce<{ key: Key; secret: string }>(console.clock)

  /** @throws ConsoleError `not_found`, for a key of somebody else as for none */
  async function ownKey(id: number, accountId: number): Promise<ApiKey> {
    const key = await keys.findKeyById(id)
    if (key?.accountId !== accountId) throw notFound('key')
    return key
  }

  async function create(accountId: number, body: NewKeyBody): Promise<{ key: Key; secret: string }> {
    const input = await readNewKey(console, accountId, body)
    const { id, key } = await keys.createKey(input)
    return { key: await shown(console, await ownKey(id, accountId)), secret: key }
  }

  return controller('console-keys', console, listener, keyRoutes, {
    'GET /api/keys': ({ signedIn, query }) => keyPage(console, signedIn.user.accountId, query),
    'POST /api/keys': ({ signedIn: { user }, body }) =>
      created.of(user.accountId, body, () => create(user.accountId, body)),
    'PATCH /api/keys/:id': async ({ signedIn, params, body: { name, limits: wanted = {}, revision } }) => {
      const { id } = await ownKey(params.id, signedIn.user.accountId)
      const limits = limitChangesOf(wanted)
      refuseWider(console, limits)
      const changed = await console.database.orm.transaction(async tx => {
        const store = keyStore({ orm: tx })
        const key = await store.lockKey(id)
        if (key === undefined) throw notFound('key')
        refuseOverwriting('key', keyRevision(key), revision)
        const named = name === undefined ? key : await store.renameKey(id, name.trim())
        return Object.keys(limits).length === 0 ? named : store.changeKeyLimits(id, limits)
      })
      return shown(console, changed)
    },
    'POST /api/keys/:id/revoke': async ({ signedIn, params }) => {
      const key = await ownKey(params.id, signedIn.user.accountId)
      return shown(console, await keys.revokeKey(key.id))
    },
  })
}

/** The keys of an account. */
export async function keyPage(
  console: Console,
  accountId: number,
  query: { cursor?: string; limit?: number; search?: string; status?: 'active' | 'expired' | 'revoked' },
): Promise<Page<Key>> {
  const part = {
    accountId,
    before: cursorId(query),
    search: query.search?.trim() || undefined,
    status: query.status === 'expired' ? ('active' as const) : query.status,
    expiredBy: query.status === 'expired' ? new Date(console.clock.now()) : undefined,
  }
  const read = (limit: number) => keyStore(console.database).searchKeys({ ...part, limit })
  const { rows, next } = await readPage(query, read, cursorOf)
  return { items: await shownKeys(console, accountId, rows), next }
}

/** A key as the API shows it. */
export async function shown(console: Console, key: ApiKey): Promise<Key> {
  const [row] = await shownKeys(console, key.accountId, [key])
  if (row === undefined) throw new Error('a key has no row')
  return row
}

/** Keys of an account as the API shows them beside one another. */
async function shownKeys(
  { database, clock }: Console,
  accountId: number,
  keys: readonly ApiKey[],
): Promise<Key[]> {
  const ids = keys.map(({ id }) => id)
  const [account, spending] = await Promise.all([
    accountStore(database).findAccount(accountId),
    keySpending(database.sql, ids),
  ])
  const labels = keyLabels(keys)
  return keys.map(key =>
    keyRow(key, {
      account,
      label: labels.get(key.id) ?? keyLabel(key),
      spentNano: spending.get(key.id) ?? 0n,
      now: clock.now(),
    }),
  )
}

async function readNewKey(console: Console, accountId: number, body: NewKeyBody): Promise<NewKey> {
  const limits = limitChangesOf(body.limits ?? {})
  refuseWider(console, limits)
  return {
    accountId,
    name: body.name.trim(),
    models: await readModels(console, accountId, body.models ?? undefined),
    expiresAt: readExpiry(body.expires_at, console.clock.now()),
    allowIps: readRanges(body.allow_ips ?? undefined),
    cap: readCap(body.cap ?? undefined),
    limits,
  }
}

/** Ids of models that the account reaches, whichever name was given. */
async function readModels(
  console: Console,
  accountId: number,
  names: readonly string[] | undefined,
): Promise<string[] | undefined> {
  if (names === undefined) return undefined
  const account = await accountStore(console.database).findAccount(accountId)
  const reached = reachedModels(console.catalog, account)
  const ids = names.map(name => {
    const model = reached.find(({ id, aliases }) => id === name || aliases.includes(name))
    if (model === undefined) throw invalid('models', `Your account has no model "${name}"`)
    return model.id
  })
  return [...new Set(ids)]
}

function readRanges(ranges: readonly string[] | undefined): string[] | undefined {
  const wrong = ranges?.find(range => !isRange(range))
  if (wrong !== undefined) {
    throw invalid('allow_ips', `"${wrong}" is no address or range, as in 10.0.0.0/8 or 2001:db8::/32`)
  }
  return ranges?.map(range => range.trim())
}

function readCap(cap: NewKeyBody['cap']): SpendCap | undefined {
  if (cap === undefined || cap === null) return undefined
  const amountNano = parseMoney(cap.amount)
  if (amountNano === undefined) throw invalid('cap', 'This is no amount, as in 5.00')
  return { amountNano, period: cap.period }
}

const LIMIT_FIELDS = {
  requestsPerMinute: 'limits.requests_per_minute',
  tokensPerMinute: 'limits.tokens_per_minute',
  concurrentRequests: 'limits.concurrent_requests',
} as const

/** What the operator gives every key is the most that its owner can give it. */
function refuseWider({ catalog }: Console, limits: LimitChanges): void {
  const most = catalog.defaults().limits.key
  for (const name of ['requestsPerMinute', 'tokensPerMinute', 'concurrentRequests'] as const) {
    const wanted = limits[name]
    const limit = most[name]
    if (wanted === undefined || wanted === null || limit === undefined || wanted <= limit) continue
    throw invalid(LIMIT_FIELDS[name], `A key can have ${limit} here at most`)
  }
}
