import type { Clock } from '@/clock/clock.ts'
import { applyPath } from '@/commands/apply.ts'
import type { Environment } from '@/config/settings.ts'
import type { Database } from '@/db/connect.ts'
import { describeCurrencyChange } from '@/routing/catalog/defaults.ts'
import { describeJump, type PriceJump } from '@/routing/catalog/price-jump.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { Log } from '@/telemetry/log.ts'

/** The operator's tollgate.yaml, and where it is applied. */
interface OperatorFileOptions {
  /** Where it is by now; undefined: there is none. */
  find: () => string | undefined
  database: Database
  secretBox: SecretBox
  env: Environment
  clock: Pick<Clock, 'now'>
  log: Log
}

/** Applies the file at the start. What is odd about it is a line of the log; what is wrong with it is thrown. */
export async function applyAtStart(options: OperatorFileOptions): Promise<void> {
  const path = options.find()
  if (path !== undefined) await applyFrom(path, options)
}

async function applyFrom(
  path: string,
  { database, secretBox, env, clock, log }: OperatorFileOptions,
): Promise<void> {
  const now = new Date(clock.now())
  const applied = await applyPath(database, secretBox, path, env, { prune: false, dryRun: false, now })
  for (const jump of applied.warnings) warnOfJump(log, jump)
  for (const warning of applied.unserved) log.warn(warning)
  if (applied.currencyChange !== undefined) log.warn(describeCurrencyChange(applied.currencyChange))
}

/** Applies it once more with each call, while the gateway serves, one after the other: the last is what holds. */
export function applierOf(options: OperatorFileOptions): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => applyAgain(options))
    return last
  }
}

/** What is wrong with it changes nothing. */
async function applyAgain(options: OperatorFileOptions): Promise<void> {
  const { find, log } = options
  try {
    const file = find()
    if (file === undefined) return log.info('there is no configuration file that could be applied again')
    await applyFrom(file, options)
    log.info({ file }, 'the configuration was applied again')
  } catch (error) {
    log.error({ err: error }, 'the configuration could not be applied: nothing has changed')
  }
}

/** Says that a price changed by more than is usual. */
export function warnOfJump(log: Log, jump: PriceJump): void {
  log.warn({ price_jump: jump }, describeJump(jump))
}
