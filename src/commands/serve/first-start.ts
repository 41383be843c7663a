import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { demoFile, vendorFile, vendorsIn } from '@/config/catalogue.ts'
import { configFileOf } from '@/config/file.ts'
import type { Environment, Settings } from '@/config/settings.ts'
import type { Database } from '@/db/connect.ts'
import { parseMoney } from '@/pricing/money.ts'
import { applyToEmpty } from '@/routing/catalog/apply.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import type { PriceJump } from '@/routing/catalog/price-jump.ts'
import { refreshPrices } from '@/routing/catalog/price-refresh.ts'
import { readModels } from '@/routing/catalog/store.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'

/** Whose key the printed `curl` holds. */
export const TRIAL_EMAIL = 'demo@localhost'

/** What a newcomer needs for a first request. */
export interface Welcome {
  /** A fresh key of the trial account; it is shown once and stored nowhere. */
  key: string
  model: string
}

/**
 * Fills a database that has neither channels nor models: where there is no configuration file, with the vendors whose
 * keys are in the environment; else, on the embedded default only, with the simulator for a newcomer. Of several
 * processes at once, one does it. True: that one, with the simulator. A later release's prices of the shipped catalogue
 * come into force here, too, but for those that jump: `onJump` is told.
 */
export async function firstStart(
  db: Database,
  secretBox: SecretBox,
  settings: Pick<Settings, 'configFile' | 'databaseUrl'>,
  env: Environment,
  onJump: (jump: PriceJump) => void,
): Promise<boolean> {
  const vendors = configFileOf(settings) === undefined ? vendorsIn(env) : []
  if (vendors.length > 0) {
    const catalogue = vendorFile(vendors, env)
    const filled = await applyToEmpty(db, secretBox, catalogue)
    if (filled === undefined) for (const jump of await refreshPrices(db, catalogue)) onJump(jump)
    return false
  }
  if (settings.databaseUrl !== undefined) return false
  return (await applyToEmpty(db, secretBox, demoFile())) !== undefined
}

/**
 * The welcome of whoever has just got the simulator, or got it at a start that came to nothing: its port was taken, say.
 * Made when it is shown, since it is shown once.
 */
export async function welcomeTo(
  db: Database,
  settings: Pick<Settings, 'databaseUrl'>,
  isNew: boolean,
): Promise<Welcome | undefined> {
  const model = demoFile().models[0]?.id
  if (settings.databaseUrl !== undefined || model === undefined) return undefined
  return isNew || (await isUntouched(db, model)) ? { key: await makeTrialKey(db), model } : undefined
}

/** Whether the simulator is there, and nobody who could use it. */
async function isUntouched(db: Database, model: string): Promise<boolean> {
  const accounts = await accountStore(db).searchAccounts({ before: undefined, limit: 1 })
  return accounts.length === 0 && (await readModels(db.orm)).some(({ id }) => id === model)
}

/** The account may be there already if the operator emptied the catalog since. */
async function makeTrialKey(db: Database): Promise<string> {
  const store = accountStore(db)
  const account = (await store.findAccountByEmail(TRIAL_EMAIL)) ?? (await makeTrialAccount(db, store))
  const { key } = await keyStore(db).createKey({
    accountId: account.id,
    name: 'trial',
  })
  return key
}

async function makeTrialAccount(db: Database, store: ReturnType<typeof accountStore>) {
  const { trialCredit } = await loadDefaults(db)
  return store.createAccount({
    email: TRIAL_EMAIL,
    creditNano: parseMoney(trialCredit) ?? 0n,
    onTrial: true,
    models: [],
  })
}
