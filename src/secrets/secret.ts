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
import { codeOf } from '@/errors/code.ts'
import { Refusal } from '@/errors/refusal.ts'

/** What tells where a deployment's secret is. */
type SecretSettings = Pick<Settings, 'secret' | 'dataDir'>

const SHORTEST_BYTES = 32

/**
 * The secret of the deployment. The embedded default makes its own once, in `DATA_DIR/secret` (mode 600); a database
 * that several processes share needs one that they share as well, so there the environment must give it.
 * @param isSealed whether the database has been used with one: another would not open it, so none is made
 */
export function loadSecret({ secret, dataDir }: SecretSettings, isSealed: boolean): string {
  return secret ?? readOrMake(dataDir, isSealed)
}

/** Where the secret is from, as an operator knows it. */
export function nameOfSecret({ secret, dataDir }: SecretSettings): string {
  return secret === undefined ? join(dataDir, 'secret') : 'TOLLGATE_SECRET'
}

function readOrMake(dataDir: string, isSealed: boolean): string {
  const path = join(dataDir, 'secret')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const known = read(path)
  if (known !== undefined) return known
  if (!isSealed) return make(path)
  throw new Refusal(
    `${path} is missing, and this database was used with it: put it back, or set TOLLGATE_SECRET to what is in it`,
  )
}

function read(path: string): string | undefined {
  let secret: string
  try {
    secret = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new Refusal(`${path} cannot be read: ${String(error)}`, { cause: error })
  }
  const length = Buffer.byteLength(secret)
  if (length >= SHORTEST_BYTES) return secret
  throw new Refusal(`${path} is ${length} bytes long; it must be ${SHORTEST_BYTES} bytes or more`)
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
    const existing = codeOf(error) === 'EEXIST' ? read(path) : undefined
    if (existing !== undefined) return existing
    throw new Refusal(`${path} cannot be made: ${String(error)}`, { cause: error })
  } finally {
    unlinkSync(aside)
  }
}
