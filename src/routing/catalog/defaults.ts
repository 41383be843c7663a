import { eq, inArray } from 'drizzle-orm'
import type { ConfigFile, LimitsEntry, LimitValues } from '@/config/entries.ts'
import { ON_REDIS_DOWN } from '@/config/schema.ts'
import type { Rows, Transaction } from '@/db/connect.ts'
import { setting } from '@/db/schema.ts'
import { asNumber, asObject, type JsonObject, parseObject } from '@/json/json.ts'

/** What the file says about the deployment as a whole. */
export interface Defaults {
  limits: { [Name in keyof LimitsEntry]: NonNullable<LimitsEntry[Name]> }
  /** Whether media that callers give by address may be fetched. */
  fetchMedia: boolean
  /** Whether answers tell what is for operators: the channel, limits counted without Redis. */
  operatorHeaders: boolean
  /** What a new account gets: a decimal string in `currency`. */
  trialCredit: string
  /** ISO 4217. */
  currency: string
}

const PRESET = { trialCredit: '1.00', currency: 'USD' }

/** Keys of the `setting` table. */
const KEYS = {
  accountLimits: 'limits.account',
  keyLimits: 'limits.key',
  accountModelLimits: 'limits.account_model',
  modelLimits: 'limits.model',
  onRedisDown: 'limits.on_redis_down',
  fetchMedia: 'fetch_media',
  operatorHeaders: 'operator_headers',
  trialCredit: 'trial_credit',
  currency: 'currency',
} as const

/** The deployment's defaults as they are in the database now. */
export async function loadDefaults(db: { orm: Rows }): Promise<Defaults> {
  const values = await readSettingRows(db.orm)
  return {
    limits: {
      account: storedLimits(values.get(KEYS.accountLimits)),
      key: storedLimits(values.get(KEYS.keyLimits)),
      accountModel: storedLimits(values.get(KEYS.accountModelLimits)),
      model: storedLimits(values.get(KEYS.modelLimits)),
      onRedisDown: ON_REDIS_DOWN.find(mode => mode === values.get(KEYS.onRedisDown)) ?? 'share',
    },
    fetchMedia: values.get(KEYS.fetchMedia) === 'true',
    operatorHeaders: values.get(KEYS.operatorHeaders) === 'true',
    trialCredit: values.get(KEYS.trialCredit) ?? PRESET.trialCredit,
    currency: values.get(KEYS.currency) ?? PRESET.currency,
  }
}

/** A currency that takes the place of another. */
export interface CurrencyChange {
  from: string
  to: string
}

/** Whether a file gives the deployment another currency; undefined: it does not. */
export function currencyChangeOf(
  { currency: from }: Defaults,
  file: ConfigFile,
  prune: boolean,
): CurrencyChange | undefined {
  const to = file.currency ?? (prune ? PRESET.currency : from)
  return to === from ? undefined : { from, to }
}

/** For people: amounts are numbers, and nothing exchanges them. */
export function describeCurrencyChange({ from, to }: CurrencyChange): string {
  return `the currency was ${from} and is ${to}: balances and prices that are there keep their numbers`
}

/** Writes what the file says; what it leaves out stays, or with `prune` goes back to the preset. True if it differs. */
export async function writeDefaults(tx: Transaction, file: ConfigFile, prune: boolean): Promise<boolean> {
  const stored = await readSettingRows(tx)
  const wanted = new Map<string, string | undefined>([
    [KEYS.accountLimits, limitsText(file.limits.account)],
    [KEYS.keyLimits, limitsText(file.limits.key)],
    [KEYS.accountModelLimits, limitsText(file.limits.accountModel)],
    [KEYS.modelLimits, limitsText(file.limits.model)],
    [KEYS.onRedisDown, file.limits.onRedisDown],
    [KEYS.fetchMedia, flagText(file.fetchMedia)],
    [KEYS.operatorHeaders, flagText(file.operatorHeaders)],
    [KEYS.trialCredit, file.trialCredit],
    [KEYS.currency, file.currency],
  ])
  let changed = false
  for (const [key, value] of wanted) {
    if (value === stored.get(key) || (value === undefined && !prune)) continue
    changed = true
    if (value === undefined) await tx.delete(setting).where(eq(setting.key, key))
    else
      await tx
        .insert(setting)
        .values({ key, value })
        .onConflictDoUpdate({ target: setting.key, set: { value } })
  }
  return changed
}

async function readSettingRows(rows: Rows): Promise<Map<string, string>> {
  const found = await rows
    .select()
    .from(setting)
    .where(inArray(setting.key, Object.values(KEYS)))
  return new Map(found.map(({ key, value }) => [key, value]))
}

function flagText(flag: boolean | undefined): string | undefined {
  return flag === undefined ? undefined : String(flag)
}

function limitsText(limits: LimitValues | undefined): string | undefined {
  return limits && JSON.stringify(limits)
}

function storedLimits(text: string | undefined): LimitValues {
  const stored: JsonObject = (text === undefined ? undefined : asObject(parseObject(text))) ?? {}
  return {
    requestsPerMinute: asNumber(stored['requestsPerMinute']),
    tokensPerMinute: asNumber(stored['tokensPerMinute']),
    concurrentRequests: asNumber(stored['concurrentRequests']),
  }
}
