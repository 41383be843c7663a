import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@/clock/clock.ts'
import { stateDirectory } from '@/config/state-directory.ts'
import { Refusal } from '@/errors/refusal.ts'
import { type Cluster, DATABASE, USER } from './cluster.ts'
import { describeCluster, prepareDirectory } from './data-directory.ts'
import { type FileLock, tryExclusive, tryShared } from './file-lock.ts'
import { findPostmaster, sendSignal, start, stop, waitUntilReady } from './postmaster.ts'

/** Whose data directory it is, and what for. */
interface EmbeddedOptions {
  dataDir: string
  /** One `serve` per data directory; any number of commands beside it, or without one. */
  role: 'serve' | 'command'
}

/** A Postgres that this process uses, and that others may use as well. */
interface EmbeddedPostgres {
  /** For `connect`; names the unix socket. */
  url: string
  /** Ends this process's use. The last user of the data directory stops the server. */
  stop(): Promise<void>
}

/**
 * A real Postgres in `DATA_DIR/postgres`, shared by all processes that use the data directory. Three locks, none of
 * which can go stale (file-lock.ts), decide everything:
 * `serve` is held by the one server for its life. `users` is shared by everybody who uses the database: who gets it
 * alone on arrival finds nothing, or the orphan of a killed server, which is stopped so that the next one has our
 * settings; who gets it alone on leaving is the last one and stops the server. `gate` lets one process at a time
 * arrive or leave.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  stateDirectory(options.dataDir, 'locks')
  const home = realpathSync(options.dataDir)
  const serving = options.role === 'serve' ? lockServe(home) : undefined
  try {
    const cluster = describeCluster(home)
    const users = await passGate(home, () => arrive(home, cluster))
    return membership(home, cluster, users, serving)
  } catch (error) {
    serving?.release()
    throw error
  }
}

const GATE_MS = 180_000
const WATCH_MS = 1_000
/** Of the 104 bytes that the smallest system gives to a socket's path, one ends it. */
const SOCKET_PATH_BYTES = 103

const lockPath = (home: string, name: string) => join(home, 'locks', name)

function lockServe(home: string): FileLock {
  const lock = tryExclusive(lockPath(home, 'serve'))
  const pidFile = lockPath(home, 'serve.pid')
  if (lock === undefined) {
    const pid = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : 'unknown'
    throw new Refusal(
      `DATA_DIR ${home} is in use by another server, process ${pid}: stop it, or use another DATA_DIR`,
    )
  }
  writeFileSync(pidFile, `${process.pid}\n`)
  return lock
}

async function passGate<T>(home: string, inside: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + GATE_MS
  for (;;) {
    const gate = tryExclusive(lockPath(home, 'gate'))
    if (gate !== undefined) return inside().finally(() => gate.release())
    if (Date.now() > deadline) throw new Refusal(`Another process has been starting in ${home} for too long`)
    await Bun.sleep(10)
  }
}

/** Sees to it that a server runs, and joins its users. Inside the gate. */
async function arrive(home: string, cluster: Cluster): Promise<FileLock> {
  const alone = tryExclusive(lockPath(home, 'users'))
  if (alone !== undefined) {
    await stopRunning(cluster)
      .then(() => prepareDirectory(home, cluster))
      .finally(() => alone.release())
  }
  const users = tryShared(lockPath(home, 'users'))
  if (users === undefined) throw new Error('the gate let two processes in')
  try {
    await ensureRunning(home, cluster, alone === undefined)
    return users
  } catch (error) {
    users.release()
    throw error
  }
}

/** Takes the server that runs, or starts one. Inside the gate, as a user. */
async function ensureRunning(home: string, cluster: Cluster, othersUseIt: boolean): Promise<void> {
  const running = findPostmaster(cluster.directory)
  if (running !== undefined && (await waitUntilReady(cluster.directory, running))) return
  if (othersUseIt) refuseForeignServer(home)
  writeFileSync(lockPath(home, 'namespace'), namespace())
  await start(cluster)
}

/** A server used from another container is alive although its process cannot be seen from here. */
function refuseForeignServer(home: string): void {
  const path = lockPath(home, 'namespace')
  if (existsSync(path) && readFileSync(path, 'utf8') === namespace()) return
  throw new Refusal(
    `DATA_DIR ${home} is in use from another container: run this command there, or stop it first`,
  )
}

function namespace(): string {
  return process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : 'one'
}

/** This process's use of the server, from here to `stop`. */
function membership(
  home: string,
  cluster: Cluster,
  users: FileLock,
  serving: FileLock | undefined,
): EmbeddedPostgres {
  const socket = socketDirectory(cluster.directory)
  const unwatch = serving === undefined ? () => undefined : watch(home, cluster)
  const leaveAtExit = () => abandon(home, cluster, users)
  process.once('exit', leaveAtExit)
  let stopping: Promise<void> | undefined

  async function leave(): Promise<void> {
    await unwatch()
    process.off('exit', leaveAtExit)
    await passGate(home, () => depart(home, cluster, users))
    socket.remove()
    serving?.release()
  }

  return {
    url: `postgres://${USER}@localhost/${DATABASE}?host=${encodeURIComponent(socket.path)}`,
    stop: () => {
      stopping ??= leave()
      return stopping
    },
  }
}

async function depart(home: string, cluster: Cluster, users: FileLock): Promise<void> {
  users.release()
  const last = tryExclusive(lockPath(home, 'users'))
  if (last !== undefined) await stopRunning(cluster).finally(() => last.release())
}

async function stopRunning(cluster: Cluster): Promise<void> {
  const running = findPostmaster(cluster.directory)
  if (running !== undefined) await stop(cluster.directory, running)
}

/** The process ends without `stop`: nothing can be awaited, but the server can be told. */
function abandon(home: string, cluster: Cluster, users: FileLock): void {
  users.release()
  const last = tryExclusive(lockPath(home, 'users'))
  const running = last === undefined ? undefined : findPostmaster(cluster.directory)
  if (running !== undefined) sendSignal(running, 'SIGINT')
  last?.release()
}

/** Starts the server again if it was killed. Returns how to end the watch. */
function watch(home: string, cluster: Cluster): () => Promise<void> {
  let restart: Promise<void> | undefined
  const cancel = systemClock.every(WATCH_MS, () => {
    if (restart !== undefined || findPostmaster(cluster.directory) !== undefined) return
    restart = passGate(home, () => ensureRunning(home, cluster, true))
      // The pool reports what the failure means; the next tick tries again.
      .catch(() => undefined)
      .finally(() => {
        restart = undefined
      })
  })
  return async () => {
    cancel()
    await restart
  }
}

/** Where clients find the socket: the data directory, or a short name for it if its path is too long for the system. */
function socketDirectory(directory: string): { path: string; remove(): void } {
  if (Buffer.byteLength(join(directory, '.s.PGSQL.5432')) <= SOCKET_PATH_BYTES) {
    return { path: directory, remove: () => undefined }
  }
  const short = mkdtempSync(join(tmpdir(), 'tollgate-'))
  symlinkSync(directory, join(short, 'pg'))
  return { path: join(short, 'pg'), remove: () => rmSync(short, { recursive: true, force: true }) }
}
