import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '@/errors/refusal.ts'
import type { Cluster } from './cluster.ts'
import { initialise } from './initdb.ts'
import { chooseUser, type OsUser } from './os-user.ts'
import { findBinaries } from './postgres-binaries.ts'

/** How directories begin that are not a database yet. */
const UNFINISHED = 'postgres.new-'

/** The cluster of a data directory, whether it is there already or not. */
export function describeCluster(home: string): Cluster {
  const directory = join(home, 'postgres')
  const owner: OsUser | undefined = statSync(directory, { throwIfNoEntry: false })
  const user = chooseUser(owner)
  const self = process.getuid?.()
  if (owner !== undefined && user === undefined && owner.uid !== self) {
    throw new Refusal(`${directory} belongs to user ${owner.uid}: run Tollgate as that user or as root`)
  }
  return { directory, binaries: findBinaries(user), user, log: join(home, 'postgres.log') }
}

/** The data directory as Postgres wants it; made on the first start. Alone in the data directory. */
export async function prepareDirectory(home: string, cluster: Cluster): Promise<void> {
  const { directory, user } = cluster
  if (!existsSync(directory) || readdirSync(directory).length === 0) return createDirectory(home, cluster)
  const versionFile = join(directory, 'PG_VERSION')
  const major = existsSync(versionFile) ? Number.parseInt(readFileSync(versionFile, 'utf8'), 10) : undefined
  if (major === undefined) throw new Refusal(`${directory} exists but holds no database`)
  if (major !== cluster.binaries.major) {
    throw new Refusal(
      `${directory} was made by Postgres ${major}, this is ${cluster.binaries.major}: dump it with the old version first`,
    )
  }
  if (user !== undefined && statSync(directory).uid !== user.uid) giveAway(directory, user)
}

/** Made elsewhere and moved into place when it is whole, so that a kill on the way leaves nothing half done. */
async function createDirectory(home: string, cluster: Cluster): Promise<void> {
  for (const name of readdirSync(home)) {
    if (name.startsWith(UNFINISHED)) rmSync(join(home, name), { recursive: true, force: true })
  }
  // A name of its own: what a killed process started may still be writing to the name before.
  const directory = mkdtempSync(join(home, UNFINISHED))
  if (cluster.user !== undefined) chownSync(directory, cluster.user.uid, cluster.user.gid)
  await initialise({ ...cluster, directory })
  renameSync(directory, cluster.directory)
  const parent = openSync(home, 'r')
  fsyncSync(parent)
  closeSync(parent)
}

/** A data directory of root's: somebody restored a backup, or ran as another user before. */
function giveAway(path: string, user: OsUser): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) giveAway(child, user)
    else if (entry.isFile()) chownSync(child, user.uid, user.gid)
  }
  chownSync(path, user.uid, user.gid)
}
