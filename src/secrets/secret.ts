import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '@/config/settings.ts'
import { Refusal } from '@/errors/refusal.ts'

/** What tells where a deployment's secret is. */
type SecretSettings = Pick<Settings, 'secret' | 'databaseUrl' | 'dataDir'>

const SHORTEST_BYTES = 32

/**
 * The secret of the deployment. The embedded default makes its own once, in `DATA_DIR/secret` (mode 600); a database
 * that several processes share needs one that they share as well, so there it must be given.
 * @param isSealed whether the database has been used with one: another would not open it, so none is made
 */
export function loadSecret(settings: SecretSettings, isSealed: boolean): string {
  const secret = settings.secret ?? readOrMake(settings, isSealed)
  const length = Buffer.byteLength(secret)
  if (length >= SHORTEST_BYTES) return secret
  throw new Refusal(
    `${nameOfSecret(settings)} is ${length} bytes long; it must be ${SHORTEST_BYTES} bytes or more`,
  )
}

/** Where the secret is from, as an operator knows it. */
export function nameOfSecret({ secret, dataDir }: Pick<Settings, 'secret' | 'dataDir'>): string {
  return secret === undefined ? join(dataDir, 'secret') : 'TOLLGATE_SECRET'
}

function readOrMake(settings: SecretSettings, isSealed: boolean): string {
  if (settings.databaseUrl !== undefined) {
    throw new Refusal('TOLLGATE_SECRET is not set; with DATABASE_URL it must be, 32 bytes or more')
  }
  const path = join(settings.dataDir, 'secret')
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  const known = read(path)
  if (known !== undefined) return known
  if (!isSealed) return make(path)
  throw new Refusal(
    `${path} is missing, and this database was used with it: put it back, or set TOLLGATE_SECRET to what is in it`,
  )
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw new Refusal(`${path} cannot be read: ${String(error)}`, { cause: error })
  }
}

/** Written aside and linked into place whole; of two processes at once, both use the first one's. */
function make(path: string): string {
  const aside = `${path}.${process.pid}`
  const made = randomBytes(32).toString('base64url')
  const file = openSync(aside, 'w', 0o600)
  writeSync(file, `${made}\n`)
  fsyncSync(file)
  closeSync(file)
  try {
    linkSync(aside, path)
    return made
  } catch (error) {
    const existing = hasCode(error, 'EEXIST') ? read(path) : undefined
    if (existing !== undefined) return existing
    throw new Refusal(`${path} cannot be made: ${String(error)}`, { cause: error })
  } finally {
    unlinkSync(aside)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
