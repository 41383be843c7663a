import type { Caller } from '@/accounts/account.ts'
import type { Clock } from '@/clock/clock.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { admitCaller, admitWork } from '@/exchange/admission.ts'
import { authenticateCaller } from '@/exchange/authentication.ts'
import { readBytes } from '@/exchange/body.ts'
import type { Listener } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { errorResponse } from '@/exchange/reply.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { Log } from '@/telemetry/log.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { RunClaim, RunStore } from './idempotency-store.ts'
import { replay } from './idempotent-replay.ts'
import { IdempotentRun } from './idempotent-run.ts'

/** A third of what a lease lasts, and some. */
const RENEW_MS = 2000

const SWEEP_MS = 60_000

/** Stripe's bound. */
const LONGEST_KEY = 255

export interface IdempotencyOptions {
  store: RunStore
  box: SecretBox
  clock: Clock
  log: Log
}

/** The runs of one process that came with an Idempotency-Key (docs/idempotency.md). */
export class Idempotency {
  readonly #options: IdempotencyOptions
  readonly #runs = new Map<string, IdempotentRun>()
  readonly #requests = new WeakMap<Request, IdempotentRun>()
  readonly #cancels: (() => void)[]
  #onQuiet: () => void = () => {}

  constructor(options: IdempotencyOptions) {
    this.#options = options
    const { clock, store, log } = options
    const guarded = (what: string, act: () => Promise<unknown>) => () => {
      act().catch(error => log.warn({ err: error }, `idempotent requests: ${what} failed`))
    }
    this.#cancels = [
      clock.every(
        RENEW_MS,
        guarded('renewing', async () => {
          if (this.#runs.size > 0) await store.renew([...this.#runs.keys()])
        }),
      ),
      clock.every(
        SWEEP_MS,
        guarded('sweeping', () => store.sweep()),
      ),
    ]
  }

  /** Tells the run of a request, if it is one's, which exchange it became. */
  observe(request: Request, record: ExchangeRecord): void {
    this.#requests.get(request)?.observe(record)
  }

  /** Answers with what there is for this key, or by running the request. */
  async once(claim: RunClaim, caller: Request, run: (signal: AbortSignal) => Rerun): Promise<Response> {
    const { store, box, clock } = this.#options
    const { signal } = caller
    for (;;) {
      const id = Bun.randomUUIDv7()
      const found = await store.claim(id, claim)
      if (found === 'begun') return this.#run(id, signal, run)
      if (found !== undefined) {
        if (Buffer.compare(found.fingerprint, claim.fingerprint) !== 0) throw usedForAnother()
        if (found.state === 'unkept') throw notKept()
        const answer = await replay(found, { store, box, clock, signal })
        if (answer !== undefined) return answer
      }
      if (signal.aborted) throw new GatewayError('client_closed', 'The caller left before the answer')
    }
  }

  async #run(id: string, caller: AbortSignal, begin: (signal: AbortSignal) => Rerun): Promise<Response> {
    const run = new IdempotentRun({ ...this.#options, id, onEnd: () => this.#forget(run) })
    this.#runs.set(id, run)
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

  #forget(run: IdempotentRun): void {
    this.#runs.delete(run.id)
    if (![...this.#runs.values()].some(({ isLingering }) => isLingering)) this.#onQuiet()
  }

  /** Resolves when no answer is fetched any more for a caller who left. */
  async quiet(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onQuiet = resolve
    if (![...this.#runs.values()].some(({ isLingering }) => isLingering)) resolve()
    await promise
  }

  /** Ends those as well, and stops renewing. */
  async close(): Promise<void> {
    for (const run of this.#runs.values()) if (run.isLingering) run.stop()
    await this.quiet()
    for (const cancel of this.#cancels) cancel()
  }
}

/** A request that is run in place of the caller's, and how. */
export interface Rerun {
  request: Request
  answer: () => Promise<Response>
}

export interface IdempotentCall {
  request: Request
  listener: Listener
  /** Whose shape an error has; undefined: OpenAI's. */
  surface: ConversationSurface | undefined
  /** Answers a request like any other. */
  answer: (request: Request) => Promise<Response>
}

/**
 * A POST with an Idempotency-Key: the same key and body get the same answer for 24 hours, and are run once. Whoever is
 * not admitted is told so by `answer`, as without the key.
 */
export async function answerOnce(gateway: Gateway, call: IdempotentCall): Promise<Response> {
  const { request, answer } = call
  try {
    admitWork(gateway)
  } catch (error) {
    return errorResponse(asGatewayError(error), gateway.newRequestId(), call.surface)
  }
  const caller = await admittedCaller(gateway, call).catch(() => undefined)
  if (caller === undefined) return answer(request)
  try {
    const key = readKey(request.headers)
    const body = await readBytes(request, gateway.maxBodyBytes)
    const claim = { accountId: caller.accountId, key, fingerprint: fingerprintOf(request, body) }
    return await gateway.idempotency.once(claim, request, signal => {
      const again = requestAgain(request, body, signal)
      return { request: again, answer: () => answer(again) }
    })
  } catch (error) {
    const failure = unavailable(error)
    const requestId = gateway.newRequestId()
    gateway.log.info(
      { request_id: requestId, account: caller.accountId, key: caller.keyId, error: failure.kind },
      'an idempotent request was refused',
    )
    return errorResponse(failure, requestId, call.surface)
  }
}

/** @throws GatewayError for a caller who is not to be served, which the exchange tells them */
async function admittedCaller(gateway: Gateway, { request, listener }: IdempotentCall): Promise<Caller> {
  const caller = await authenticateCaller(gateway.authenticate, request)
  admitCaller(caller, () => listener.addressOf(request))
  return caller
}

/** @throws GatewayError `invalid_request` */
function readKey(headers: Headers): string {
  const key = headers.get('idempotency-key') ?? ''
  if (key.length <= LONGEST_KEY && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)) return key
  throw new GatewayError(
    'invalid_request',
    `An Idempotency-Key is 1 to ${LONGEST_KEY} printable ASCII characters`,
    { param: 'Idempotency-Key' },
  )
}

/** The caller's request once more, its body read and decoded, without the caller's connection. */
function requestAgain(request: Request, body: Uint8Array, signal: AbortSignal): Request {
  const headers = new Headers(request.headers)
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding', 'idempotency-key'])
    headers.delete(name)
  return new Request(request.url, { method: request.method, headers, body, signal })
}

/** Without the database nobody knows whether a request was made before, so it is not made. */
function unavailable(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (!(error instanceof Error) || !('code' in error)) return asGatewayError(error)
  return new GatewayError('billing_unavailable', 'The database does not answer, try again in a moment', {
    detail: String(error),
    cause: error,
  })
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
