import type { ChildProcess } from 'node:child_process'
import type { OsUser } from './os-user.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'

/** One Postgres server: its files, its programs, and as whom it runs (undefined: as ourselves). */
export interface Cluster {
  /** The data directory, an absolute path without symbolic links. It belongs to `user`, mode 0700. */
  directory: string
  binaries: PostgresBinaries
  user: OsUser | undefined
  /** What the server says about itself. Not in the data directory, so that it outlives it. */
  log: string
}

/** The superuser of the cluster and owner of everything in it. */
export const USER = 'tollgate'
export const DATABASE = 'tollgate'

/**
 * The data directory as the server may name it. Run as another user it may not be allowed to walk there from the root
 * (`/root/...`, a temporary directory of mode 0700); it is started inside instead, and `/proc/self/cwd` leads back.
 */
export function pathForServer(cluster: Cluster): string {
  return cluster.user !== undefined && process.platform === 'linux' ? '/proc/self/cwd' : cluster.directory
}

/** Where, as whom and with which environment its programs run. Nothing of ours leaks in, PGPORT and the like included. */
export function processOptions(cluster: Cluster) {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' }
  return { cwd: cluster.directory, env, ...cluster.user }
}

/** Ends one of its programs with this process, which may end at any time. Returns how to let it live on. */
export function endWithProcess(child: ChildProcess, signal: NodeJS.Signals): () => void {
  const end = () => void child.kill(signal)
  process.once('exit', end)
  return () => void process.off('exit', end)
}

/** The lines of a program's output that say what went wrong; its last one where none does. */
export function faultsIn(text: string): string[] {
  const lines = text.trim().split('\n')
  const faults = lines.filter(line => /\b(FATAL|PANIC|ERROR|error):/.test(line))
  return (faults.length > 0 ? faults : lines.slice(-1)).map(line => line.trim())
}
