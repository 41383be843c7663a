import { GatewayError } from '@/errors/gateway-error.ts'
import type { Admitted, Prepared } from '@/exchange/attempt/routes.ts'
import type { OperationPrice } from '@/exchange/billing/quote.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { Rates } from '@/generation/rates.ts'
import type { Route } from '@/routing/model.ts'
import type { Candidate } from '@/routing/order.ts'
import { dialectOf } from './dialect.ts'

/**
 * An exchange that is no conversation: one request, one answer. A surface reads one from its request; all else
 * (limits, money, candidates, timeouts, errors, the stored result) is the shared way of exchange.ts.
 */
export type Operation = WholeOperation | StreamedOperation

interface OperationOf<P extends Prepared> {
  /** As the caller named it. */
  model: string
  /** Models that it names beside that one, for a vendor to run. */
  otherModels?: readonly string[]
  /** The caller's format: an upstream that speaks it is tried before one that needs conversion. */
  format: Format
  /** What it may cost. */
  price: OperationPrice
  /** Why a route cannot serve this; undefined: it can. `noSuchThing` where its format has nothing like it. */
  objection(route: Route): GatewayError | undefined
  /** The part of a route that may be used; undefined: all of it. What belongs to one key of a channel goes with that one. */
  narrow?(route: Route): Route
  /**
   * Makes the request ready for a route that nobody objected to.
   * @throws GatewayError `unsupported_parameter`
   */
  prepare(route: Route, context: PrepareContext): P | Promise<P>
  /** Gives back what the request holds (spooled files). Called once, when all is over. */
  dispose?(): void
}

/** An operation whose answer is read to its end before the caller gets any of it. */
export interface WholeOperation extends OperationOf<PreparedWhole> {
  delivery: 'whole'
  stream: false
}

/** An operation whose answer flows: server-sent events, or the bytes of a sound or a film. */
export interface StreamedOperation extends OperationOf<PreparedStream> {
  delivery: 'events' | 'bytes'
  /** What the stored result says. */
  stream: boolean
}

/** What an operation may know of its exchange when it makes a request ready. */
export interface PrepareContext {
  requestId: string
  /** Whose request it is, and for which model. */
  record: ExchangeRecord
  /** Milliseconds since 1970. */
  now: number
  /** True: a loss is a 400. */
  strict: boolean
  /** The prices in force, for what is counted as they count it; undefined for a model that has none and is not served. */
  rates: Rates | undefined
  /** Their version. */
  priceVersion: bigint | undefined
}

/** A request whose answer is read to its end. */
export interface PreparedWhole extends Prepared {
  /**
   * Reads what the upstream answered; `served` is where.
   * @throws GatewayError for an error inside a 200, and for what is no answer at all
   */
  read(bytes: Uint8Array, headers: Headers, served: Served): OperationAnswer
}

/** A request whose answer flows. */
export interface PreparedStream extends Prepared {
  /** What stands between the upstream's bytes and the caller's; the upstream's head says what they are. */
  open(headers: Headers): OperationPipeline
}

/** Where an answer came from. */
export type Served = Pick<Candidate, 'route' | 'key'>

/** An answer for the caller, and what it used. */
export interface OperationAnswer {
  body: Uint8Array | string
  contentType: string
  /** Nothing is charged where it is undefined. */
  used: UsedUp | undefined
  /** Hands the hold to a job, which is charged when it ends; the caller is answered when that is durable. */
  entrust?: (record: ExchangeRecord) => Promise<void>
}

/** A pipeline that knows what has been used so far. */
export interface OperationPipeline extends Pipeline {
  /** Of the caller's answer. */
  readonly contentType: string
  /** What was used up to now, or in the end; undefined while there is no answer, which is free. */
  used(): UsedUp | undefined
}

/** What an upstream's format has nothing like. */
export function noSuchThing(model: string): GatewayError {
  return new GatewayError('surface_not_supported', `The model '${model}' is not offered on this surface`, {
    param: 'model',
  })
}

/** What stands against a route, found by making the request ready for it; undefined: nothing. */
export function objectionIn(tryOut: () => unknown): GatewayError | undefined {
  try {
    tryOut()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** An operation with the routes that can serve it, and how it is made ready for each. */
export interface Undertaking<O extends Operation>
  extends Pick<Admitted<Prepared>, 'gateway' | 'record' | 'model' | 'routes' | 'traits'> {
  operation: O
  context: PrepareContext
}

/**
 * Finds the routes that can serve an operation.
 * @throws GatewayError when there is none: what all of them object to, else `surface_not_supported`
 */
export function undertake(
  asked: Pick<Undertaking<Operation>, 'gateway' | 'record' | 'model' | 'operation'>,
  strict: boolean,
): Undertaking<Operation> {
  const { record, model, operation } = asked
  const objections = model.routes.map(route => operation.objection(route))
  const routes = model.routes
    .filter((_, index) => objections[index] === undefined)
    .map(route => operation.narrow?.(route) ?? route)
  if (routes.length === 0 && model.routes.length > 0) {
    // What is wrong with the request tells more than that another channel has no such thing.
    throw (
      objections.find(error => error !== undefined && error.kind !== 'surface_not_supported') ??
      noSuchThing(operation.model)
    )
  }
  return {
    ...asked,
    routes,
    traits: {
      accountId: callerOf(record).accountId,
      model: model.id,
      format: operation.format,
      alike: FORMATS.filter(format => dialectOf(format) === dialectOf(operation.format)),
      headers: NO_HEADERS,
      body: {},
    },
    context: {
      requestId: record.id,
      record,
      now: record.startedAt,
      strict,
      rates: model.price?.rates,
      priceVersion: model.price?.version,
    },
  }
}

/** An operation goes on with nothing, so nothing ties it to a channel. */
const NO_HEADERS = new Headers()
