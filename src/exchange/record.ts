import type { Caller } from '@/accounts/account.ts'
import type { Clock } from '@/clock/clock.ts'
import type { EndState, UsageSource } from '@/db/schema.ts'
import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Extras } from '@/generation/extras.ts'
import type { Format } from '@/generation/format.ts'
import type { ServiceTier } from '@/generation/service-tier.ts'
import type { Surface } from '@/generation/surface.ts'
import type { Usage } from '@/generation/usage.ts'
import type { LimitLease, LimitState } from '@/limits/answer.ts'
import type { AttemptSpan } from '@/telemetry/spans.ts'

/** The cost of an exchange, exact and as the wallet pays it. */
export interface Charge {
  nano: bigint
  pico: bigint
  priceVersion: bigint
  /** The service tier whose prices of that version hold; undefined: the model's own. */
  serviceTier: ServiceTier | undefined
}

/** All that is kept of one exchange, filled in as it happens. Holds no content and no credential. */
export interface ExchangeRecord {
  /** UUIDv7; the `x-request-id`. */
  readonly id: string
  readonly surface: Surface
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** The same as the clock's `elapsed` says it, for how long the exchange takes. */
  readonly begunAt: number
  caller: Caller | undefined
  /** The model's id in the catalog. */
  model: string | undefined
  /** Name and format of the channel of the last attempt. */
  channel: string | undefined
  channelFormat: Format | undefined
  streamed: boolean
  /** Whether its caller was answered in full although it goes on: a background response that nobody follows. */
  isDetached: boolean
  attempts: number
  /** The tries that have ended, in order. */
  tries: AttemptSpan[]
  /** The caller's `traceparent` header. */
  traceparent: string | undefined
  losses: readonly string[]
  /** The service tier that the last attempt asked for, in the upstream's words, where that decides prices. */
  askedTier: string | undefined
  /** Whether the last attempt asked for a summary of the conversation, in place of what the caller wants. */
  asksForSummary: boolean
  /** From the start to the upstream's first output, in ms. */
  firstByteMs: number | undefined
  /** Undefined: the upstream reported none. */
  usage: Usage | undefined
  /** What was used beside tokens; undefined: nothing. */
  extras: Extras | undefined
  /** How the usage is known; undefined while it is not. */
  usageSource: Exclude<UsageSource, 'missing'> | undefined
  /** How the caller's limits stand; undefined before they were asked, and once a stream's head told them. */
  limits: readonly LimitState[] | undefined
  /** Whether they were counted without the Redis that should have counted them. */
  limitsAreDegraded: boolean
  /** Whether the answer tells what is for operators. */
  tellsOperators: boolean
  /** The exchange's place within its limits; undefined before it was taken. */
  lease: LimitLease | undefined
  /** What was charged; undefined: nothing. */
  charge: Charge | undefined
  /** The status that the caller got; 499 when the caller left first. */
  status: number
  endState: EndState
  error: GatewayError | undefined
  /** What is done at the end, whichever way the exchange goes: spooled files are deleted. */
  readonly releases: (() => void)[]
}

/** The record of an exchange of which nothing is known yet. */
export function openRecord(
  id: string,
  surface: Surface,
  clock: Pick<Clock, 'now' | 'elapsed'>,
): ExchangeRecord {
  return {
    id,
    surface,
    startedAt: clock.now(),
    begunAt: clock.elapsed(),
    caller: undefined,
    model: undefined,
    channel: undefined,
    channelFormat: undefined,
    streamed: false,
    isDetached: false,
    attempts: 0,
    tries: [],
    traceparent: undefined,
    losses: [],
    askedTier: undefined,
    asksForSummary: false,
    firstByteMs: undefined,
    usage: undefined,
    extras: undefined,
    usageSource: undefined,
    limits: undefined,
    limitsAreDegraded: false,
    tellsOperators: false,
    lease: undefined,
    charge: undefined,
    status: 200,
    endState: 'complete',
    error: undefined,
    releases: [],
  }
}

/** The state that an error leaves an exchange in. */
export function endStateOf(error: GatewayError): EndState {
  if (error.isCut) return 'upstream_cut'
  if (error.kind === 'client_closed') return 'client_gone'
  if (error.isStall) return 'stalled'
  if (error.kind.startsWith('upstream_')) return 'upstream_error'
  return 'refused'
}

/** Who is called to account; known from the moment that the exchange was admitted. */
export function callerOf(record: ExchangeRecord): Caller {
  if (record.caller === undefined) throw new Error(`exchange ${record.id} was not admitted`)
  return record.caller
}
