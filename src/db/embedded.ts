import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { Refusal } from '@/errors/refusal.ts'
import { type FileLock, tryExclusive, tryShared } from './file-lock.ts'
import { chooseUser, type OsUser } from './os-user.ts'
import { findBinaries } from './postgres-binaries.ts'
import {
  type Cluster,
  DATABASE,
  findPostmaster,
  initialise,
  sendSignal,
  start,
  stop,
  USER,
  waitUntilReady,
} from './postmaster.ts'

export interface EmbeddedOptions {
  dataDir: string
  /** One `serve` per data directory; any number of commands beside it, or without one. */
  role: 'serve' | 'command'
  clock?: Clock
}

export interface EmbeddedPostgres {
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
  const home = prepareHome(options.dataDir)
  const serving = options.role === 'serve' ? lockServe(home) : undefined
  try {
    const cluster = describeCluster(home)
    const users = await passGate(home, () => arrive(home, cluster))
    return membership(home, cluster, users, serving, options.clock ?? systemClock)
  } catch (error) {
    serving?.release()
    throw error
  }
}

const GATE_MS = 180_000
/** How directories begin that are not a database yet. */
const UNFINISHED = 'postgres.new-'
const WATCH_MS = 1_000
/** Of the 104 bytes that the smallest system gives to a socket's path, one ends it. */
const SOCKET_PATH_BYTES = 103

const lockPath = (home: string, name: string) => join(home, 'locks', name)

function prepareHome(dataDir: string): string {
  try {
    mkdirSync(join(dataDir, 'locks'), { recursive: true, mode: 0o700 })
    return realpathSync(dataDir)
  } catch (cause) {
    throw new Refusal(`DATA_DIR ${dataDir} cannot be used: ${String(cause)}`, { cause })
  }
}

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
    const orphan = findPostmaster(cluster.directory)
    if (orphan !== undefined) await stop(cluster.directory, orphan)
    await prepareDirectory(home, cluster)
    alone.release()
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
  clock: Clock,
): EmbeddedPostgres {
  const socket = socketDirectory(cluster.directory)
  const unwatch = serving === undefined ? () => undefined : watch(home, cluster, clock)
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
  if (last === undefined) return
  const running = findPostmaster(cluster.directory)
  if (running !== undefined) await stop(cluster.directory, running)
  last.release()
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
function watch(home: string, cluster: Cluster, clock: Clock): () => Promise<void> {
  let restart: Promise<void> | undefined
  const cancel = clock.every(WATCH_MS, () => {
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

function describeCluster(home: string): Cluster {
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
async function prepareDirectory(home: string, cluster: Cluster): Promise<void> {
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

/** Where clients find the socket: the data directory, or a short name for it if its path is too long for the system. */
function socketDirectory(directory: string): { path: string; remove(): void } {
  if (Buffer.byteLength(join(directory, '.s.PGSQL.5432')) <= SOCKET_PATH_BYTES) {
    return { path: directory, remove: () => undefined }
  }
  const short = mkdtempSync(join(tmpdir(), 'tollgate-'))
  symlinkSync(directory, join(short, 'pg'))
  return { path: join(short, 'pg'), remove: () => rmSync(short, { recursive: true, force: true }) }
}
