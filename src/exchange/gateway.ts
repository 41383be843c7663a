import type { Authenticate } from '@/accounts/authenticate.ts'
import type { Clock } from '@/clock/clock.ts'
import type { Deadlines } from '@/clock/deadlines.ts'
import type { CreditWatch } from '@/exchange/billing/credit.ts'
import type { ExchangeStore } from '@/exchange/billing/settlement.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import type { BodyRoom } from '@/limits/body-room.ts'
import type { Limiter } from '@/limits/limiter.ts'
import type { Load } from '@/limits/load.ts'
import type { DefaultLimitValues } from '@/limits/plan.ts'
import type { ForeignReasoning } from '@/routing/foreign-reasoning.ts'
import type { Catalog } from '@/routing/model.ts'
import type { Selector } from '@/routing/selector.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import type { Spans } from '@/telemetry/spans.ts'
import type { ConnectionPools } from '@/upstream/connection-pools.ts'
import type { MediaFetch } from '@/upstream/media.ts'
import type { AnswerQueue } from './answer-queue.ts'
import type { OpenExchanges } from './open-exchanges.ts'
import type { GuardedClient } from './pass.ts'
import type { ExchangeRecord } from './record.ts'
import type { Watchdog } from './watchdog.ts'

/** The one run of a request with an Idempotency-Key. */
export interface ObservedRun {
  /** The id that its next exchange is to have; undefined: any. */
  exchangeId(): string | undefined
  /** Told which exchange it became. */
  observe(record: ExchangeRecord): void
}

/** What every exchange needs of the process. What only some need is an extension that stands with them (`ResponseGateway`). */
export interface Gateway {
  authenticate: Authenticate
  catalog: Catalog
  /** Which pool of connections an attempt goes over. */
  pools: ConnectionPools
  /** The only way to an upstream. */
  client: GuardedClient
  selector: Selector
  foreignReasoning: ForeignReasoning
  store: ExchangeStore
  /** What is still to come of exchanges that ended: the ledger's word on a charge or on a hold given back, and the result that waits for it. */
  settling: Set<Promise<void>>
  ledger: Ledger
  limiter: Limiter
  /** Whether answers tell what is for operators. */
  tellsOperators: () => boolean
  /** Whether the operator lets us fetch media that callers give by address. */
  fetchesMedia: () => boolean
  fetchMedia: MediaFetch
  /** Whether this process can take on more. */
  load: Pick<Load, 'overload' | 'isCrowded'>
  /** What holds for whoever has no limits of their own, as the operator last said. */
  limits: () => DefaultLimitValues
  credit: CreditWatch
  /** Asked by every exchange that begins, and told of requests made in the place of one: its answer may have to be stored. */
  idempotency: {
    /** The run that a request is made in; undefined: it has no Idempotency-Key. */
    runOf(request: Request): ObservedRun | undefined
    again(original: Request, request: Request): void
  }
  /** Where callers reach this gateway, if the operator says so; else it is what their own requests say. */
  publicUrl: string | undefined
  open: OpenExchanges
  /** Answers that are about to flow. */
  answers: AnswerQueue
  /** Answers that flow. */
  watchdog: Watchdog
  clock: Clock
  /** Timeouts, nearly all of which are cancelled. */
  deadlines: Deadlines
  /** Numbers in [0, 1). */
  random: () => number
  /** Makes request ids: UUIDv7. */
  newRequestId: () => string
  /** Makes ids for tool calls to which an upstream gave none. */
  newCallId: () => string
  log: Log
  metrics: Metrics
  /** Undefined: nobody collects spans. */
  spans: Spans | undefined
  /** Largest decoded request body, in bytes. */
  maxBodyBytes: number
  /** Memory for large bodies. */
  bodyRoom: Pick<BodyRoom, 'take' | 'giveBack'>
  /** True once the process is asked to end: open exchanges go on, new ones are refused. */
  draining: boolean
}
