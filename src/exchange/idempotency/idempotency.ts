import { regularly } from '@/clock/regularly.ts'
import { newRequestId } from '@/clock/request-id.ts'
import { Silence } from '@/clock/silence.ts'
import { inTime } from '@/db/in-time.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Gateway, ObservedRun } from '@/exchange/gateway.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import type { RecordingOptions } from './recording.ts'
import { replay } from './replay.ts'
import { IdempotentRun } from './run.ts'
import { LEASE_SECONDS, type RunClaim } from './store.ts'

/** A third of what a lease lasts, and some. */
const RENEW_MS = 2000

/** Renewals that may be without an answer at once; as many are made while a lease lasts. */
const MOST_UNANSWERED = 5

const SWEEP_MS = 60_000

/** Where runs are kept, sealed and timed. */
interface IdempotencyOptions extends Omit<RecordingOptions, 'id'> {
  ledger: Pick<Ledger, 'giveBack'>
}

/** What a request with an Idempotency-Key needs. */
export interface IdempotentGateway extends Gateway {
  idempotency: Idempotency
}

/** The runs of one process that came with an Idempotency-Key (docs/idempotency.md). */
export class Idempotency {
  readonly #options: IdempotencyOptions
  readonly #runs = new Map<string, IdempotentRun>()
  /** The latest of each key, of those that run here. */
  readonly #latest = new Map<string, IdempotentRun>()
  readonly #requests = new WeakMap<Request, IdempotentRun>()
  readonly #stops: (() => void)[]
  readonly #silence: Silence
  #unanswered = 0
  #onQuiet: () => void = () => {}

  constructor(options: IdempotencyOptions) {
    this.#options = options
    const { clock, store, log } = options
    this.#silence = new Silence(clock, LEASE_SECONDS * 1000)
    const told = {
      clock,
      onFailure: (err: unknown) => log.warn({ err }, 'idempotent requests could not be looked after'),
    }
    this.#stops = [
      // Not one after the other: a renewal on a dead connection must not keep the next from being made.
      clock.every(RENEW_MS, () => void this.#renew()),
      regularly(SWEEP_MS, () => this.#giveBack(), told),
      regularly(SWEEP_MS, () => store.sweep(this.#silence.knownTo), told),
    ]
  }

  /** The run that a request is made in. */
  runOf(request: Request): ObservedRun | undefined {
    return this.#requests.get(request)
  }

  /** A request that is made in the place of one that came to nothing is a part of the same run. */
  again(original: Request, request: Request): void {
    const run = this.#requests.get(original)
    if (run !== undefined) this.#requests.set(request, run)
  }

  /**
   * Answers with what there is for this key, or by running the request.
   * @throws Late if the database does not answer; a claim that reaches it later lasts as long as that of a dead process
   */
  async once(claim: RunClaim, caller: Asking, run: (signal: AbortSignal) => Rerun): Promise<Response> {
    const { store, box, clock } = this.#options
    let interruption: Interruption | undefined
    const name = `${claim.accountId} ${claim.key}`
    // What runs here lives, whatever the database has of it.
    const knownTo = () => (this.#latest.has(name) ? Number.NEGATIVE_INFINITY : this.#silence.knownTo)
    for (;;) {
      const id = newRequestId()
      const found = await inTime(store.claim(id, claim, knownTo()), clock)
      if (found === 'begun') return this.#run({ id, name }, caller.signal, run)
      if (found !== undefined) {
        if (Buffer.compare(found.fingerprint, claim.fingerprint) !== 0) throw usedForAnother()
        if (found.state === 'unkept') throw notKept()
        interruption ??= caller.follow()
        const { surface } = caller
        const answer = await replay(found, { store, box, clock, knownTo, surface, interruption })
        if (answer !== undefined) return answer
        if (interruption.reason !== undefined) throw interruption.reason
      }
    }
  }

  async #run(
    { id, name }: { id: string; name: string },
    caller: AbortSignal,
    begin: (signal: AbortSignal) => Rerun,
  ): Promise<Response> {
    const run = new IdempotentRun({ ...this.#options, id, onEnd: () => this.#forget(run, name) })
    this.#runs.set(id, run)
    this.#latest.set(name, run)
    const leave = () => run.leave()
    caller.addEventListener('abort', leave)
    if (caller.aborted) leave()
    try {
      const { request, answer } = begin(run.signal)
      this.#requests.set(request, run)
      return await run.answer(await answer())
    } catch (error) {
      await run.fail()
      throw error
    }
  }

  /** Asked also where there is nothing to renew: if this process reaches the database, the others could have renewed theirs. */
  async #renew(): Promise<void> {
    if (this.#unanswered === MOST_UNANSWERED) return
    this.#unanswered += 1
    const { store, clock, log } = this.#options
    const renewed = store.renew([...this.#runs.keys()]).finally(() => {
      this.#unanswered -= 1
    })
    try {
      this.#silence.reached(await inTime(renewed, clock))
    } catch (err) {
      this.#silence.missed()
      if (this.#runs.size > 0)
        log.warn({ err, runs: this.#runs.size }, 'idempotent requests could not be renewed')
    }
  }

  /** What was charged for runs whose process died and whose retry runs anew; some of it may be posted late. */
  async #giveBack(): Promise<void> {
    const { store, ledger } = this.#options
    const lost = await store.takenOver()
    if (lost.length > 0) await ledger.giveBack(lost, 'A retry with the same Idempotency-Key ran in its place')
  }

  #forget(run: IdempotentRun, name: string): void {
    this.#runs.delete(run.id)
    if (this.#latest.get(name) === run) this.#latest.delete(name)
    if (this.#isQuiet()) this.#onQuiet()
  }

  /** Resolves when no answer is fetched any more for a caller who left. */
  async quiet(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onQuiet = resolve
    if (this.#isQuiet()) resolve()
    await promise
  }

  #isQuiet(): boolean {
    return ![...this.#runs.values()].some(({ isLingering }) => isLingering)
  }

  /** Ends those as well, and stops renewing. */
  async close(): Promise<void> {
    for (const run of this.#runs.values()) if (run.isLingering) run.stop()
    await this.quiet()
    for (const stop of this.#stops) stop()
  }
}

/** Who asks for a run or what came of it. */
interface Asking {
  /** Aborts when they leave. */
  signal: AbortSignal
  /** In whose format they are told of errors. */
  surface: ConversationSurface
  /** Begins to look whether they may be given what another began. */
  follow: () => Interruption
}

/** A request that is run in place of the caller's, and how. */
interface Rerun {
  request: Request
  answer: () => Promise<Response>
}

function usedForAnother(): GatewayError {
  return new GatewayError(
    'idempotency_conflict',
    'This Idempotency-Key was used for another request within the last 24 hours',
    { param: 'Idempotency-Key' },
  )
}

function notKept(): GatewayError {
  return new GatewayError(
    'idempotency_conflict',
    'The request with this Idempotency-Key was answered, but its answer could not be kept; use another key to run it again',
    { param: 'Idempotency-Key' },
  )
}
