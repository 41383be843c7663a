import { GatewayError } from '@/errors/gateway-error.ts'
import { notOffered } from '@/exchange/admission/admission.ts'
import type { Prepared, Servable } from '@/exchange/attempt/failover.ts'
import type { OperationPrice } from '@/exchange/billing/quote.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import type { CallerAnswer } from '@/exchange/relay/whole.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import type { Model, ModelPrice, Route } from '@/routing/model.ts'
import type { Candidate } from '@/routing/order.ts'
import { dialectOf } from './dialect.ts'

/**
 * An exchange that is no conversation: one request, one answer. A surface reads one from its request; all else
 * (limits, money, candidates, timeouts, errors, the stored result) is the shared way of exchange.ts.
 */
export type Operation = WholeOperation | StreamedOperation

/** What operations have in common whose answers come whole, and those whose answers flow. */
export interface OperationOf<P extends Prepared> {
  /** As the caller named it. */
  model: string
  /** Models that it names beside that one, for a vendor to run. */
  otherModels?: readonly string[]
  /** The caller's format: an upstream that speaks it is tried before one that needs conversion. */
  format: Format
  /** What it may cost. */
  price: OperationPrice
  /** Why a route cannot serve this; undefined: it can. `notOffered` where its format has no such operation. */
  objection(route: Route): GatewayError | undefined
  /** Restricts a route, such as to the one key of its channel that owns a file; undefined: all of it may be used. */
  narrow?(route: Route): Route
  /**
   * Writes the request for a route to which there was no objection.
   * @throws GatewayError `unsupported_parameter`
   */
  prepare(route: Route, context: PrepareContext): P | Promise<P>
}

/** An operation whose answer is read to its end before the caller gets any of it. */
export interface WholeOperation extends OperationOf<PreparedWhole> {
  delivery: 'whole'
}

/** An operation whose answer flows: server-sent events, which the stored result calls streamed, or the bytes of a sound. */
export interface StreamedOperation extends OperationOf<PreparedStream> {
  delivery: 'events' | 'bytes'
}

/** What an operation may know of its exchange when it writes a request. */
export interface PrepareContext {
  record: ExchangeRecord
  /** The model's price, by whose units some usage is counted; undefined for a model that has none and is not served. */
  price: ModelPrice | undefined
  /** An error as an event of the caller's format. */
  encodeError: (error: GatewayError) => string
}

/** A request whose answer is read to its end. */
export interface PreparedWhole extends Prepared {
  /**
   * Reads what the upstream answered; `served` is where. Of one that takes only so much in a call this gives the next
   * call, to be made there as well, and the last one's gives the caller's answer.
   * @throws GatewayError for an error inside a 200, and for what is no answer at all
   */
  read(bytes: Uint8Array, headers: Headers, served: Served): CallerAnswer | PreparedWhole
}

/** A request whose answer flows. */
export interface PreparedStream extends Prepared {
  /** The pipeline from the upstream's bytes to the caller's; the upstream's headers say what the bytes are. */
  open(headers: Headers): OperationPipeline
}

/** Where an answer came from. */
export type Served = Pick<Candidate, 'route' | 'key'>

/** A pipeline that knows what has been used so far. */
export interface OperationPipeline extends Pipeline {
  /** Of the caller's answer. */
  readonly contentType: string
  /** What was used up to now, or in the end; undefined while there is no answer, which is free. */
  used(): UsedUp | undefined
}

/** Why a request cannot be written for a route, found by writing it; undefined: it can. */
export function objectionIn(tryOut: () => unknown): GatewayError | undefined {
  try {
    tryOut()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** An operation, and the routes that can serve it. */
export interface Undertaking extends Pick<Servable<Prepared>, 'routes' | 'traits'> {
  operation: Operation
  context: PrepareContext
}

/**
 * Finds the routes that can serve an operation.
 * @throws GatewayError when there is none: what all of them object to, else `surface_not_supported`
 */
export function undertake(operation: Operation, model: Model, record: ExchangeRecord): Undertaking {
  const objections = model.routes.map(route => operation.objection(route))
  const routes = model.routes
    .filter((_, index) => objections[index] === undefined)
    .map(route => operation.narrow?.(route) ?? route)
  if (routes.length === 0 && model.routes.length > 0) {
    // What is wrong with the request tells more than that another channel has no such thing.
    throw (
      objections.find(error => error !== undefined && error.kind !== 'surface_not_supported') ??
      notOffered(operation.model)
    )
  }
  return {
    operation,
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
      record,
      price: model.price,
      encodeError: error =>
        CODECS[SURFACE_FORMAT[record.surface]].encodeErrorEvent(error, record.id, undefined),
    },
  }
}

/** An operation continues no conversation, so no header says where one is cached. */
const NO_HEADERS = new Headers()
