import type { RequestBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import type { Reservation } from '@/exchange/billing/charge.ts'
import type { Operation } from '@/exchange/operations/operation.ts'
import type { Format } from '@/generation/format.ts'
import type { ConversationSurface, Surface } from '@/generation/surface.ts'
import type { ResponseChain } from '@/routing/affinity.ts'
import type { ExchangeRecord } from './record.ts'

/** A request as a surface hands it to an exchange. */
export interface Call {
  request: Request
  /** The listener that it came in by. */
  listener: Pick<Listener, 'addressOf'>
  surface: Surface
}

/** What only the listening socket knows of a request. */
export interface Listener {
  /** The address that a request came from; undefined if its socket is closed. */
  addressOf(request: Request): string | undefined
  /** Whether a request is still being answered. */
  isOpen(request: Request): boolean
}

/** A request for a model's answer to a conversation. */
export interface ConversationCall extends Call {
  surface: ConversationSurface
  /**
   * Reads what decides the way of the request from its body, or from its path where the format says it there.
   * @throws GatewayError `invalid_request`
   */
  readCall: (body: RequestBody) => CallFacts
  /** The steps that a surface with stored state adds (the Responses API); undefined: none. */
  state?: CallState | undefined
}

/** What of a request decides the way it goes. */
export interface CallFacts {
  /** As the caller named it. */
  model: string
  stream: boolean
  framing: 'sse' | 'json-array'
  /** `answer`, unless said. */
  purpose?: Prompt['purpose']
  /** The format of the body; unless said, that of the surface. */
  format?: Format
}

/** The steps that an exchange has more where something is stored between requests. */
export interface CallState {
  /**
   * The body to continue with, in which every reference is replaced by what it refers to.
   * @throws GatewayError for a reference to nothing, and for what may not be stored
   */
  resolve(body: RequestBody, record: ExchangeRecord): RequestBody | Promise<RequestBody>
  /** Aborts when the exchange is to end. Stands in for the request's own signal where nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined
  /** Which response this one continues; known once the body was resolved. */
  readonly chain?: ResponseChain | undefined
  /** Called once the money is set aside, before any upstream is called. */
  admitted?(record: ExchangeRecord, reservation: Reservation): Promise<void>
}

/** A request for anything else: an image, a vector, a sound. */
export interface OperationCall extends Call {
  /**
   * Reads the body within these limits, and says what the record's caller wants done.
   * @throws GatewayError for what cannot be read or breaks the format's rules
   */
  read: (request: Request, terms: BodyTerms, record: ExchangeRecord) => Promise<Operation>
}
