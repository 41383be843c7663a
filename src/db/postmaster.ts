import { spawn } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '@/errors/code.ts'
import { Refusal } from '@/errors/refusal.ts'
import { type Cluster, endWithProcess, faultsIn, pathForServer, processOptions } from './cluster.ts'

/**
 * No TCP. The socket is in the data directory, which only its owner and root can enter, and they could read the files
 * as well: so `trust` lets nobody in who was not in already. `.` also keeps the path short for the server's side.
 * fsync and its companions are the defaults; they are spelled out because the ledger rests on them.
 */
const SETTINGS = {
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // About 20 for each worker.
  max_connections: '400',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  jit: 'off',
  // Its worker processes would make every start slower and read nothing faster at this size.
  io_method: 'sync',
}

/** A setting of ours that Postgres ignores; it makes the server's command line name its directory. */
const DIRECTORY_SETTING = 'tollgate.directory'

const POLL_MS = 5
const STOP_MS = 30_000
const READY_MS = 120_000
const RETRY_MS = 30_000
const LOG_LIMIT = 4 << 20

/** Starts the server and returns its process id when it takes connections. Nothing of it may be running. */
export async function start(cluster: Cluster): Promise<number> {
  const deadline = Date.now() + RETRY_MS
  for (;;) {
    const logged = truncateLog(cluster.log)
    const started = await tryStart(cluster)
    if ('pid' in started) return started.pid
    const said = `${readFileSync(cluster.log).subarray(logged)}\n${started.failure}`
    // The children of a server that was killed need a moment to notice and leave its shared memory.
    if (!said.includes('is still in use') || Date.now() > deadline) {
      throw new Refusal(
        `The embedded Postgres does not start: ${faultsIn(said).at(-1)} (more in ${cluster.log})`,
      )
    }
    await Bun.sleep(200)
  }
}

/** The process id of the running server of this directory; undefined when there is none, whatever files say. */
export function findPostmaster(directory: string): number | undefined {
  const pid = readPidFile(directory)?.pid
  return pid !== undefined && isServerOf(pid, directory) ? pid : undefined
}

/** Waits until a server that somebody else started takes connections. */
export async function waitUntilReady(directory: string, pid: number): Promise<boolean> {
  const deadline = Date.now() + READY_MS
  while (Date.now() < deadline) {
    const file = readPidFile(directory)
    if (file?.pid === pid && file.ready) return true
    if (!isServerOf(pid, directory)) return false
    await Bun.sleep(POLL_MS)
  }
  throw new Refusal(`The embedded Postgres (process ${pid}) does not become ready`)
}

/** Stops the server: politely to its files, not to its clients. Returns when it is gone. */
export async function stop(directory: string, pid: number): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    sendSignal(pid, signal)
    const deadline = Date.now() + STOP_MS
    while (Date.now() < deadline) {
      if (!isServerOf(pid, directory)) return
      await Bun.sleep(POLL_MS)
    }
  }
  throw new Refusal(`The embedded Postgres (process ${pid}) does not stop`)
}

/** Tells the server to stop, for a process that cannot wait any more. */
export function sendSignal(pid: number, signal: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

async function tryStart(cluster: Cluster): Promise<{ pid: number } | { failure: string }> {
  correctStaleFiles(cluster.directory)
  const log = openSync(cluster.log, 'a', 0o600)
  const settings = Object.entries({ ...SETTINGS, [DIRECTORY_SETTING]: cluster.directory })
  const flags = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(cluster.binaries.postgres, ['-D', pathForServer(cluster), ...flags], {
    ...processOptions(cluster),
    stdio: ['ignore', log, log],
    // Its own session: Ctrl-C on our terminal must reach us alone, and we stop the server when we are done with it.
    detached: true,
  })
  closeSync(log)
  let failure: string | undefined
  child.once('error', error => (failure = error.message))
  child.once('exit', () => (failure ??= ''))
  child.unref()
  const letLive = endWithProcess(child, 'SIGINT')
  const deadline = Date.now() + READY_MS
  while (failure === undefined && Date.now() < deadline) {
    const file = readPidFile(cluster.directory)
    if (file !== undefined && file.pid === child.pid && file.ready) {
      letLive()
      return { pid: file.pid }
    }
    await Bun.sleep(POLL_MS)
  }
  letLive()
  return { failure: failure ?? 'it takes too long' }
}

/**
 * A killed server leaves two files with its process id. That can be somebody else's by now (a restarted machine), or a
 * corpse that nobody buries (a container without an init), and Postgres would take either for a server that runs; or the
 * next server's (processes have the same ids each time a container starts), and we would take that for ready while it
 * still recovers. Our own id in its place says what is true: a server cannot be its own parent. The rest of the file must
 * stay, for Postgres finds by it whether children of the killed server are still at work.
 */
function correctStaleFiles(directory: string): void {
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    const pid = readPidFile(directory, name)?.pid
    if (pid === undefined || isServerOf(pid, directory)) continue
    const path = join(directory, name)
    overwrite(path, readFileSync(path, 'utf8').replace(/^\d+/, String(process.pid)))
  }
}

/** Never empties the file, which Postgres would refuse to start over, and leaves it its owner. */
function overwrite(path: string, text: string): void {
  const fd = openSync(path, 'r+')
  try {
    ftruncateSync(fd, writeSync(fd, text, 0))
  } finally {
    closeSync(fd)
  }
}

function readPidFile(
  directory: string,
  name = 'postmaster.pid',
): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(directory, name), 'utf8').split('\n')
    const pid = Number(lines[0])
    return pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : undefined
  } catch {
    return undefined
  }
}

/**
 * A process id alone proves nothing after a restart: a server of this directory is one that was started with its name.
 * The command line is what any user may read of any process, also in a container (`/proc/PID/cwd` is not).
 */
function isServerOf(pid: number, directory: string): boolean {
  return readCommandLine(pid).some(argument => argument.trim() === `${DIRECTORY_SETTING}=${directory}`)
}

function readCommandLine(pid: number): string[] {
  if (process.platform !== 'linux') {
    return Bun.spawnSync(['ps', '-o', 'command=', '-p', String(pid)])
      .stdout.toString()
      .split(' -c ')
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Keeps the log from growing over the years; returns how long it is now. */
function truncateLog(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size < LOG_LIMIT) return size
  truncateSync(path, 0)
  return 0
}
