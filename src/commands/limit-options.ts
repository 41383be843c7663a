import type { LimitChanges } from '@/accounts/account.ts'
import type { Database } from '@/db/connect.ts'
import { type Command, readArguments, readId, UsageError } from './command.ts'
import { withDatabase } from './deployment.ts'
import type { Subject } from './id-command.ts'

/** The options that set limits, of accounts and of keys alike. */
export const LIMIT_OPTIONS = { rpm: 'text', tpm: 'text', concurrent: 'text' } as const

/** `account limits`, `key limits`: sets the limits of the one with this id, and shows it as it is afterwards. */
export function limitsCommand<Row>(
  { noun, show }: Subject<Row>,
  change: (db: Database, id: number, changes: LimitChanges) => Promise<Row>,
): Command {
  return {
    name: `${noun} limits`,
    summary: `set ${noun === 'account' ? 'an' : 'a'} ${noun}'s own limits`,
    usage: 'ID [--rpm N] [--tpm N] [--concurrent N]',
    details: `ID              the number that "${noun} list" shows
--rpm N         requests per minute
--tpm N         tokens per minute
--concurrent N  requests at once
N is a whole number, or "default" for the deployment's own.`,
    async run(args, io) {
      const words = readArguments(args, LIMIT_OPTIONS, ['ID'])
      const changes = requireLimits(words.texts)
      const id = readId(words.positionals[0] ?? '', 'ID')
      const limited = await withDatabase(io, db => change(db, id, changes))
      show(io, words.json, limited)
      return 0
    },
  }
}

/**
 * The limits that were given; `default` puts one back to the deployment's.
 * @throws UsageError
 */
export function readLimits(texts: Readonly<Record<string, string | undefined>>): LimitChanges {
  return {
    ...limitChange('requestsPerMinute', 'rpm', texts),
    ...limitChange('tokensPerMinute', 'tpm', texts),
    ...limitChange('concurrentRequests', 'concurrent', texts),
  }
}

/** The same, of which there must be one. */
function requireLimits(texts: Readonly<Record<string, string | undefined>>): LimitChanges {
  const changes = readLimits(texts)
  if (Object.keys(changes).length > 0) return changes
  throw new UsageError('one of --rpm, --tpm, --concurrent must be there')
}

function limitChange(
  name: keyof LimitChanges,
  option: string,
  texts: Readonly<Record<string, string | undefined>>,
): LimitChanges {
  const text = texts[option]
  if (text === undefined) return {}
  if (text === 'default') return { [name]: null }
  const limit = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (limit > 0) return { [name]: limit }
  throw new UsageError(`--${option} is "${text}" but must be a whole number above 0, or "default"`)
}
