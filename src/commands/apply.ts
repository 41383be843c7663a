import type { Known } from '@/config/checks.ts'
import { readConfigFile } from '@/config/file.ts'
import type { Environment } from '@/config/settings.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import type { Database } from '@/db/connect.ts'
import { type ApplyResult, type Counts, countsOf } from '@/routing/catalog/apply.ts'
import { describeCurrencyChange } from '@/routing/catalog/defaults.ts'
import { describeJump } from '@/routing/catalog/price-jump.ts'
import { readChannelIds, readModelNames } from '@/routing/catalog/store.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { type Command, readArguments } from './command.ts'
import { openSecretBox, withDatabase } from './deployment.ts'
import { print, table } from './output.ts'
import { unservedIn } from './unserved.ts'

/** `apply`: the file's channels, models and settings, put into the database. */
export const applyCommand: Command = {
  name: 'apply',
  summary: 'bring channels and models to what a file says',
  usage: 'FILE [--prune] [--dry-run]',
  details: `FILE       a tollgate.yaml; nothing is applied unless all of it is valid
--prune    also remove what the file does not name
--dry-run  say what would change and change nothing`,
  async run(args, io) {
    const words = readArguments(args, { prune: 'flag', 'dry-run': 'flag' }, ['FILE'])
    const [path = ''] = words.positionals
    const options = {
      prune: words.flags.has('prune'),
      dryRun: words.flags.has('dry-run'),
      now: new Date(io.now()),
    }
    const result = await withDatabase(io, async (db, settings) =>
      applyPath(db, await openSecretBox(db, settings), path, io.env, options),
    )
    const { warnings, currencyChange, unserved } = result
    const channels = countsOf(result.channels)
    const models = countsOf(result.models)
    if (currencyChange !== undefined) io.error(`warning: ${describeCurrencyChange(currencyChange)}`)
    for (const warning of warnings) io.error(`warning: ${describeJump(warning)}`)
    for (const warning of unserved) io.error(`warning: ${warning}`)
    const note = options.dryRun ? '\nnothing was written (--dry-run)' : ''
    print(
      io,
      words.json,
      { channels, models, warnings: warnings.map(jump => ({ ...jump })), unserved: [...unserved] },
      () =>
        `${table(HEADINGS, [
          ['channels', ...textsOf(channels)],
          ['models', ...textsOf(models)],
        ])}${note}`,
    )
    return 0
  },
}

/**
 * Reads a file and applies it, also at the start of the server. Models of the file may use channels that are in the
 * database already, unless those are about to be pruned.
 */
export async function applyPath(
  db: Database,
  secretBox: SecretBox,
  path: string,
  env: Environment,
  { now, ...options }: { prune: boolean; dryRun: boolean; now: Date },
): Promise<ApplyResult & { unserved: readonly string[] }> {
  const known = options.prune ? NOTHING : await namesIn(db)
  const file = await readConfigFile(path, env, known)
  const applied = await applyFile(db, secretBox, file, { ...options, source: 'file' })
  return { ...applied, unserved: unservedIn(file, now) }
}

const NOTHING: Known = { channels: new Set() }

async function namesIn({ orm }: Pick<Database, 'orm'>): Promise<Known> {
  return { channels: new Set((await readChannelIds(orm)).keys()), modelNames: await readModelNames(orm) }
}

const HEADINGS = ['', 'added', 'changed', 'removed']

function textsOf({ added, changed, removed }: Counts): string[] {
  return [added, changed, removed].map(String)
}
