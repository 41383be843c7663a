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
 * keys are in the environment; else, on the embedded default only, with the simulator and a trial account. Of several
 * processes at once, one does it. The welcome is for whom the trial account was made. A later release's
 * prices of the shipped catalogue come into force here, too, but for those that jump: `onJump` is told.
 */
export async function firstStart(
  db: Database,
  secretBox: SecretBox,
  settings: Pick<Settings, 'configFile' | 'databaseUrl'>,
  env: Environment,
  onJump: (jump: PriceJump) => void,
): Promise<Welcome | undefined> {
  const vendors = configFileOf(settings) === undefined ? vendorsIn(env) : []
  if (vendors.length > 0) {
    const catalogue = vendorFile(vendors, env)
    const filled = await applyToEmpty(db, secretBox, catalogue)
    if (filled === undefined) for (const jump of await refreshPrices(db, catalogue)) onJump(jump)
    return undefined
  }
  if (settings.databaseUrl !== undefined) return undefined
  const demo = demoFile()
  const filled = await applyToEmpty(db, secretBox, demo)
  const [model] = demo.models
  return filled === undefined || model === undefined
    ? undefined
    : { key: await makeTrialKey(db), model: model.id }
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
