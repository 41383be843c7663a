import { Counter, Gauge, Registry } from 'prom-client'
import type { Clock } from '@/clock/clock.ts'
import { within } from '@/clock/wait.ts'
import { bind } from '@/commands/bind.ts'
import type { ListenAddress } from '@/config/settings.ts'
import type { Readings } from '@/console/deployment.ts'
import type { OpsDependencies } from '@/ops/ops.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import { supervisedReadings } from './supervised-readings.ts'
import type { MetricReading } from './worker.ts'
import { WorkerMetrics } from './worker-metrics.ts'
import { startWorker, type WorkerProcess } from './worker-process.ts'

/** How many processes it keeps running, and where they listen. */
interface SupervisorOptions {
  workers: number
  api: ListenAddress
  /** By which workers tell one another of channels; there is one where there are several. */
  redisUrl: string | undefined
  /** Resolves with why it is to end. */
  stop: Promise<string>
  clock: Clock
  log: Log
  /** What this process counts beside its workers. */
  metrics: Pick<Metrics, 'registry'>
}

/** Several processes that share the API port, watched by this one. */
interface Supervisor {
  apiUrl: string
  /** What the ops listener tells: of all workers as one. */
  probes: OpsDependencies
  /** What the console shows of the workers. */
  readings: Readings
  /** Tells all workers to end, which they do in their own time, and waits for them. */
  stop(): Promise<void>
}

/** A worker that does not answer by then is left out. */
const ANSWER_MS = 2_000

/**
 * Starts the workers, and starts again whichever ends. The first decides the port if any will do, and whether the
 * address can be had at all; a start that fails is refused, a worker that fails later is tried again, ever slower.
 * Undefined: it was told to stop before all of them served. Those that did have taken leave, and all have ended.
 */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor | undefined> {
  const { stop, clock, log, api, metrics } = options
  refuseTakenAddress(api)
  const workerMetrics = new WorkerMetrics<WorkerProcess>()
  const newSeat = () => new Seat({ clock, log, onEnd: worker => workerMetrics.leave(worker) })
  const first = newSeat()
  const others = Array.from({ length: options.workers - 1 }, newSeat)
  const seats = [first, ...others]
  const living = () => seats.flatMap(({ worker }) => worker ?? [])
  let isStopping = false
  const kill = () => {
    for (const worker of living()) worker.kill()
  }
  process.once('exit', kill)
  await using opened = new AsyncDisposableStack()
  opened.defer(() => void process.off('exit', kill))
  opened.defer(async () => {
    isStopping = true
    await Promise.all(seats.map(seat => seat.clear()))
  })
  const apiUrl = await fillAll(first, others, { port: api.port, stop })
  if (apiUrl === undefined) {
    log.info({ signal: await stop }, 'stopping')
    return undefined
  }
  const own = ownRegistry(
    () => living().length,
    () => seats.reduce((sum, { restarts }) => sum + restarts, 0),
  )
  const readings = supervisedReadings(options.redisUrl ?? '', clock, log)
  opened.defer(() => readings.close())
  const parts = opened.move()
  return {
    apiUrl,
    readings,
    probes: {
      contentType: Registry.PROMETHEUS_CONTENT_TYPE,
      metrics: async () => {
        const beside = await metrics.registry.getMetricsAsJSON()
        const all = await workerMetrics.read(living(), worker => metricsOf(worker, clock), beside)
        return `${all}\n${await own.metrics()}`
      },
      unreadiness: async () => (isStopping ? 'shutting down' : unreadinessOf(living(), clock)),
    },
    stop: () => parts.disposeAsync(),
  }
}

/** Whom a seat tells of its workers, and the time by which it starts the next. */
interface SeatOptions {
  clock: Clock
  log: Log
  onEnd: (worker: WorkerProcess) => void
}

/** The place of one worker, whoever holds it. */
class Seat {
  worker: WorkerProcess | undefined
  /** How many workers were started in the place of one that ended. */
  restarts = 0
  readonly #options: SeatOptions
  /** How many in a row ended before they had served for long. */
  #failures = 0
  /** Whether whoever ends is followed by another: from when one has served, until it is cleared. */
  #isKept = false
  #isCleared = false
  #cancel: () => void = () => undefined

  constructor(options: SeatOptions) {
    this.#options = options
  }

  /** Starts a worker, and another whenever it ends; resolves with its address once it serves. */
  fill(port: number): Promise<string> {
    const { clock, log, onEnd } = this.#options
    const worker = startWorker({ port })
    this.worker = worker
    void worker.hungUp.then(async () => {
      if ((await within(EXIT_MS, worker.exited, clock)) !== undefined) return
      log.error({ worker: worker.pid }, 'a worker took leave and does not exit, and is ended')
      worker.kill()
    })
    void worker.exited.then(endIfSilent(worker, { clock, log }))
    let servingSince: number | undefined
    let sharedPort = port
    void worker.serving.then(
      apiUrl => {
        servingSince = clock.elapsed()
        sharedPort = portAt(apiUrl, port)
        this.#isKept = true
      },
      () => undefined,
    )
    void worker.exited.then(code => {
      this.worker = undefined
      onEnd(worker)
      if (this.#isCleared || !this.#isKept) return
      const afterMs = this.#refill(sharedPort, servingSince && clock.elapsed() - servingSince)
      log.error({ worker: worker.pid, exit_code: code, restart_after_ms: afterMs }, 'a worker ended')
    })
    return worker.serving
  }

  /** Fills it again after as many ms as this returns. */
  #refill(port: number, servedMs: number | undefined): number {
    const { clock, log } = this.#options
    this.#failures = failuresOf(this.#failures, servedMs)
    const afterMs = restartDelayMs(this.#failures)
    this.#cancel = clock.after(afterMs, () => {
      try {
        void this.fill(port)
        this.restarts += 1
      } catch (err) {
        // The machine has no room for another process, say.
        log.error({ err, restart_after_ms: this.#refill(port, undefined) }, 'a worker could not be started')
      }
    })
    return afterMs
  }

  /** Ends its worker, and starts no more. */
  async clear(): Promise<void> {
    this.#isCleared = true
    this.#cancel()
    this.worker?.send({ type: 'stop' })
    await this.worker?.exited
  }
}

/**
 * Resolves with the address at which all of them serve, whose port the first has found. Undefined: they were to stop
 * before, whatever the others wait for.
 */
async function fillAll(
  first: Seat,
  others: readonly Seat[],
  { port, stop }: { port: number; stop: Promise<string> },
): Promise<string | undefined> {
  const stopped = stop.then(() => undefined)
  const apiUrl = await Promise.race([stopped, first.fill(port)])
  if (apiUrl === undefined) return undefined
  const sharedPort = portAt(apiUrl, port)
  const filled = Promise.all(others.map(seat => seat.fill(sharedPort))).then(() => apiUrl)
  return Promise.race([stopped, filled])
}

/** The port of a worker that was told this one: where any will do, the one that it found. An address does not name 80. */
function portAt(apiUrl: string, told: number): number {
  return told === 0 ? Number(new URL(apiUrl).port) : told
}

/** How long a worker has to exit once it has closed its line: all that it had to do is done, but for its log. */
const EXIT_MS = 15_000

/** How often a worker is asked whether it is there, and how long it has for its answer. */
const ASK_MS = 30_000
const SILENCE_MS = 20_000

/**
 * Ends a worker that has given no answer twice in a row: stopped or hanging, it would keep the connections that the kernel
 * goes on giving it, or its place empty. Once may be that this process did not run either. One that waits for the database
 * in its start answers. The returned function ends the asking.
 */
export function endIfSilent(
  worker: Pick<WorkerProcess, 'pid' | 'ask' | 'kill'>,
  { clock, log }: { clock: Clock; log: Pick<Log, 'error'> },
): () => void {
  let silences = 0
  const ask = async () => {
    const answer = await worker.ask('alive', SILENCE_MS, clock)
    silences = answer === undefined ? silences + 1 : 0
    if (silences !== 2) return
    log.error({ worker: worker.pid }, 'a worker does not answer any more, and is ended')
    worker.kill()
  }
  return clock.every(ASK_MS, () => void ask())
}

/** What ends a worker that served for so long is no fault of its start, and the next does not have to wait for it. */
const SETTLED_MS = 5_000
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000

/**
 * How many workers of a place have now failed in a row.
 * @param servedMs how long the last one served; undefined: it never did
 */
export function failuresOf(before: number, servedMs: number | undefined): number {
  return servedMs !== undefined && servedMs >= SETTLED_MS ? 1 : before + 1
}

/** How long to wait before a place is filled again whose worker has now failed so many times in a row. */
export function restartDelayMs(failures: number): number {
  return Math.min(FIRST_DELAY_MS * 4 ** (failures - 1), LONGEST_DELAY_MS)
}

/** Workers share the port by SO_REUSEPORT, and would as quietly share it with a stranger's. */
function refuseTakenAddress({ host, port }: ListenAddress): void {
  if (port === 0) return
  bind({ host: 'HOST', port: 'PORT' }, { host, port }, () =>
    Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() }),
  ).stop(true)
}

/** The deployment is ready as long as one of its workers is: the kernel gives it the connections of those that died. */
async function unreadinessOf(workers: readonly WorkerProcess[], clock: Clock): Promise<string | undefined> {
  const answers = await Promise.all(workers.map(worker => worker.ask('readiness', ANSWER_MS, clock)))
  const reasons = answers.flatMap(answer => (answer?.type === 'readiness' ? [answer.reason] : []))
  if (reasons.length === 0) return 'no worker answers'
  return reasons.includes(null) ? undefined : (reasons[0] ?? undefined)
}

async function metricsOf(worker: WorkerProcess, clock: Clock): Promise<MetricReading[] | undefined> {
  const answer = await worker.ask('metrics', ANSWER_MS, clock)
  return answer?.type === 'metrics' ? answer.metrics : undefined
}

function ownRegistry(workers: () => number, restarts: () => number): Registry {
  const registry = new Registry()
  new Gauge({
    name: 'tollgate_workers',
    help: 'Processes that share the API port.',
    registers: [registry],
    collect() {
      this.set(workers())
    },
  })
  new Counter({
    name: 'tollgate_worker_restarts_total',
    help: 'Workers that were started in the place of one that ended.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(restarts())
    },
  })
  return registry
}
