import { systemClock } from '@/clock/clock.ts'
import { requireKnownHosts } from '@/commands/bind.ts'
import type { CommandIo } from '@/commands/command.ts'
import { openSecretBox } from '@/commands/deployment.ts'
import { configFileOf } from '@/config/file.ts'
import { readSettings, type Settings } from '@/config/settings.ts'
import { stateDirectory } from '@/config/state-directory.ts'
import { firstOwnerLink, linkMakerOf } from '@/console/sign-in/links.ts'
import { type OpenedDatabase, openDatabase } from '@/db/open.ts'
import { wrapInNameOf } from '@/formats/signatures/signature.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { createLog, type Log } from '@/telemetry/log.ts'
import { createMetrics, type Metrics } from '@/telemetry/metrics.ts'
import { startConsole } from './console.ts'
import { firstStart, welcomeTo } from './first-start.ts'
import { greet } from './greeting.ts'
import { bindOps } from './listeners.ts'
import { applierOf, applyAtStart, warnOfJump } from './operator-file.ts'
import { startServer } from './server.ts'
import { tellOfSlowStart } from './slow-start.ts'
import { startSupervisor } from './supervisor.ts'
import { reportTo, untilDismissed, type WorkerOrder, workerOrder } from './worker.ts'

/**
 * A process that serves, until it is told to stop: the one that the operator started, or a worker of it. Whatever else
 * the program does comes without this file, which loads most of it.
 */
export async function runServing(io: CommandIo): Promise<void> {
  const order = workerOrder(io.env)
  // A worker's supervisor has warned already.
  const settings = readSettings(io.env, io.terminal, order === undefined ? io.error : undefined)
  const metrics = createMetrics()
  const log = createLog({
    level: settings.logLevel,
    format: settings.logFormat,
    isShared: settings.workers > 1,
    onDropped: () => metrics.droppedLogLines.inc(),
  })
  surviveStrayErrors(log, metrics)
  surviveStraySignals(log)
  if (order !== undefined) return work(order, { settings, io, log, metrics })
  await serve({ settings, io, log, metrics })
  log.info('stopped')
}

/** What is on its way when a process is told to end arrives within it, on a network that works. */
const FAREWELL_MS = 250

/** What a serving process has from its start. */
interface Serving {
  settings: Settings
  io: CommandIo
  log: Log
  metrics: Metrics
}

/** The process that the operator started: serves, or has workers that do. */
async function serve({ settings, io, log, metrics }: Serving): Promise<void> {
  // SIGHUP says that the terminal was closed; where there is none, that the configuration is to be read again.
  const stop = untilStopped(io.terminal ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM'])
  const onHangup = (act: () => void) => {
    if (!io.terminal) process.on('SIGHUP', act)
  }
  onHangup(() => undefined)
  const disarm = exitIfStopped(stop, log)
  // Before anything is made or opened: the environment may name a file that is not there.
  configFileOf(settings)
  const hosts = { HOST: settings.api.host, OPS_HOST: settings.ops.host, CONSOLE_HOST: settings.console.host }
  await requireKnownHosts(hosts)
  const journalDirectory = stateDirectory(settings.dataDir, 'journal')
  await using opened = new AsyncDisposableStack()
  opened.defer(disarm)
  const hasStarted = opened.adopt(tellOfSlowStart(log, systemClock), cancel => cancel())
  const database = await openDatabase({ ...settings, role: 'serve' })
  opened.defer(() => database.close())
  // Once more: where a start fails, this comes before the database is closed, which takes a while, so that the failure is told.
  opened.defer(disarm)
  const secretBox = await openServing(database, settings)
  const base = { database, secretBox, clock: systemClock, log }
  const operatorFile = { ...base, find: () => configFileOf(settings), env: io.env }
  await applyAtStart(operatorFile)
  const applyAgain = applierOf(operatorFile)
  onHangup(() => void applyAgain())
  const isNew = await firstStart(database, secretBox, settings, io.env, jump => warnOfJump(log, jump))
  // Closed after the servers: whoever asks /readyz is told that this process stops, until it has.
  let ops: ReturnType<typeof bindOps> | undefined
  opened.defer(() => ops?.stop(true))
  // From here on it is for each worker to know whether it serves already and has to take leave.
  if (settings.workers > 1) disarm()
  const server =
    settings.workers > 1
      ? await startSupervisor({ ...settings, stop, clock: systemClock, log, metrics })
      : await startServer({
          ...base,
          random: Math.random,
          settings: { ...settings, sharesPort: false, journalDirectory, farewellMs: FAREWELL_MS },
          metrics,
        })
  if (server === undefined) return
  opened.defer(() => server.stop())
  disarm()
  const { apiUrl, readings, probes } = server
  const console = await startConsole({ ...base, settings, apiUrl, readings })
  opened.defer(() => console.stop())
  const link = await firstOwnerLink(linkMakerOf(console.console), database.orm)
  const welcome = await welcomeTo(database, settings, isNew)
  // The last that opens, in one turn with the greeting: who finds the one finds the other.
  ops = bindOps(settings.ops, probes)
  greet(io, { apiUrl, consoleUrl: console.url, opsUrl: ops.url.origin }, { welcome, link: link?.url })
  hasStarted()
  log.info({ signal: await stop }, 'stopping')
}

/** One of several processes on the API port. Its supervisor has set up the database and has the ops listener. */
async function work(order: WorkerOrder, { settings, log, metrics }: Serving): Promise<void> {
  const stop = Promise.race([untilStopped(['SIGINT', 'SIGTERM']), untilDismissed()])
  // A terminal sends it to all of its processes. What is to be done of it, the supervisor does.
  process.on('SIGHUP', () => undefined)
  const disarm = exitIfStopped(stop, log)
  await using opened = new AsyncDisposableStack()
  // An open line keeps the process: the supervisor would wait for ever for one that could not start. Closed from here it is
  // no dismissal, which would end the process before its error is told.
  opened.defer(() => {
    disarm()
    process.disconnect?.()
  })
  const hasStarted = opened.adopt(tellOfSlowStart(log, systemClock), cancel => cancel())
  const database = await openDatabase({ ...settings, role: 'command' })
  opened.defer(() => database.close())
  opened.defer(disarm)
  const server = await startServer({
    clock: systemClock,
    random: Math.random,
    settings: {
      ...settings,
      api: { ...settings.api, port: order.port },
      sharesPort: true,
      farewellMs: FAREWELL_MS,
      journalDirectory: stateDirectory(settings.dataDir, 'journal'),
    },
    database,
    secretBox: await openServing(database, settings),
    log,
    metrics,
  })
  opened.defer(() => server.stop())
  disarm()
  reportTo(server.apiUrl, {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    unreadiness: server.probes.unreadiness,
  })
  hasStarted()
  log.info({ worker: process.pid, reason: await stop }, 'stopping')
}

/**
 * Ends the process at once when it is told to, until the returned function is called: what a start waits for may never
 * come, and there is nobody yet of whom to take leave. From that call on whoever made it sees to the end: it serves, it
 * has workers of which some may, or its start has failed and says why.
 */
function exitIfStopped(stop: Promise<string>, log: Log): () => void {
  let isArmed = true
  void stop.then(signal => {
    if (!isArmed) return
    log.info({ signal }, 'stopped before it served anybody')
    process.exit(0)
  })
  return () => {
    isArmed = false
  }
}

/** The secret box of a process that serves, which wraps signatures in its deployment's name. */
async function openServing(database: OpenedDatabase, settings: Settings): Promise<SecretBox> {
  const secretBox = await openSecretBox(database, settings)
  wrapInNameOf(secretBox.deployment)
  return secretBox
}

/** An error that nobody caught is a bug, but no reason to cut everybody else's streams. */
function surviveStrayErrors(log: Log, metrics: Metrics): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      metrics.unhandledErrors.inc()
      log.error({ err: error }, event)
    })
  }
}

/** They mean something to other servers, nginx and Postgres among them, and would end this one with all its streams. */
function surviveStraySignals(log: Log): void {
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    process.on(signal, () => log.warn({ signal }, 'a signal that means nothing here'))
  }
}

/** Resolves with the first signal that asks the process to end; a second one ends it at once. */
function untilStopped(signals: readonly NodeJS.Signals[]): Promise<string> {
  return new Promise(resolve => {
    let asked = false
    for (const signal of signals) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve(signal)
      })
    }
  })
}
