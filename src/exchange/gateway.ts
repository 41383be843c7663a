import type { Authenticate } from '@/accounts/authenticate.ts'
import type { WorkDependencies } from '@/exchange/admission/admission.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import type { Followers } from '@/exchange/admission/followers.ts'
import type { LimitingDependencies } from '@/exchange/admission/limiting.ts'
import type { ChargeDependencies } from '@/exchange/billing/charge.ts'
import type { SettlementDependencies } from '@/exchange/billing/settlement.ts'
import type { BodyRoom } from '@/limits/body-room.ts'
import type { Load } from '@/limits/load.ts'
import type { ForeignReasoning } from '@/routing/foreign-reasoning.ts'
import type { Catalog } from '@/routing/model.ts'
import type { RefusedWishes } from '@/routing/refused-wishes.ts'
import type { Selector } from '@/routing/selector.ts'
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

/**
 * What every exchange needs of the process: what each of its steps says it needs, and what belongs to none alone. What only
 * some exchanges need is an extension that stands with them (`ResponseGateway`).
 */
export interface Gateway
  extends WorkDependencies,
    Omit<BodyTerms, 'account'>,
    LimitingDependencies,
    ChargeDependencies,
    SettlementDependencies {
  bodyRoom: BodyRoom
  authenticate: Authenticate
  catalog: Catalog
  /** Which pool of connections an attempt goes over. */
  pools: ConnectionPools
  /** The only way to an upstream. */
  client: GuardedClient
  selector: Selector
  foreignReasoning: ForeignReasoning
  refusedWishes: RefusedWishes
  /** Whether answers tell what is for operators. */
  tellsOperators: () => boolean
  /** Whether the operator lets us fetch media that callers give by address. */
  fetchesMedia: () => boolean
  fetchMedia: MediaFetch
  /** Whether this process can take on more. */
  load: Pick<Load, 'overload' | 'isCrowded'>
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
  /** Callers who are given what they hold no money for. */
  followers: Pick<Followers, 'follow'>
  /** Makes request ids: UUIDv7. */
  newRequestId: () => string
  /** Makes ids for tool calls to which an upstream gave none. */
  newCallId: () => string
}
