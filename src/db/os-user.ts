import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Refusal } from '@/errors/refusal.ts'

/** Another user of the operating system, as whom Postgres runs. */
export interface OsUser {
  uid: number
  gid: number
}

/** Preferred first. `nobody` is in every image; making a user would change a system that is not ours. */
const CANDIDATES = ['postgres', 'nobody']

/**
 * As whom Postgres has to run: undefined is as ourselves. Postgres refuses to run as root, so root needs somebody
 * else: whoever owns the data directory already, else the first candidate that exists.
 */
export function chooseUser(dataOwner: OsUser | undefined): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  if (dataOwner !== undefined && dataOwner.uid !== 0) return dataOwner
  const passwd = readFileSync('/etc/passwd', 'utf8')
  const found = CANDIDATES.map(name => findUser(passwd, name)).find(user => user !== undefined)
  if (found !== undefined) return found
  throw new Refusal(
    `Postgres does not run as root and none of the users ${CANDIDATES.join(', ')} exists: ` +
      'run Tollgate as an ordinary user, or create one with "useradd --system postgres"',
  )
}

/** The user of that name in the text of /etc/passwd; never root. */
export function findUser(passwd: string, name: string): OsUser | undefined {
  const fields = passwd
    .split('\n')
    .map(line => line.split(':'))
    .find(line => line[0] === name)
  const uid = Number(fields?.[2])
  const gid = Number(fields?.[3])
  return uid > 0 && gid > 0 ? { uid, gid } : undefined
}

/** Whether the user may pass through every directory from the root down to this path. */
export function canReach(path: string, user: OsUser): boolean {
  const allowed = canEnter(path, user)
  const parent = dirname(path)
  return allowed && (parent === path || canReach(parent, user))
}

function canEnter(path: string, user: OsUser): boolean {
  const { mode, uid, gid } = statSync(path)
  if (uid === user.uid) return (mode & 0o100) !== 0
  if (gid === user.gid) return (mode & 0o010) !== 0
  return (mode & 0o001) !== 0
}
