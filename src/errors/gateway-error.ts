/** Where another attempt could succeed. Decided where the failure is understood (upstream/outcome.ts). */
export type Retry = 'never' | 'next-channel'

interface KindRow {
  status: number
  /** False: the same request will fail again, so clients are told not to retry (`x-should-retry: false`). */
  callerMayRetry: boolean
}

/** Every way in which a request can fail, by its `code` (Gemini: `reason`), which tells the caller. */
const KINDS = {
  invalid_json: { status: 400, callerMayRetry: false },
  invalid_request: { status: 400, callerMayRetry: false },
  model_not_found: { status: 400, callerMayRetry: false },
  surface_not_supported: { status: 400, callerMayRetry: false },
  unsupported_parameter: { status: 400, callerMayRetry: false },
  previous_response_not_found: { status: 400, callerMayRetry: false },
  missing_api_key: { status: 401, callerMayRetry: false },
  invalid_api_key: { status: 401, callerMayRetry: false },
  credit_exhausted: { status: 402, callerMayRetry: false },
  credit_reserved: { status: 402, callerMayRetry: true },
  key_budget_exhausted: { status: 402, callerMayRetry: false },
  ip_not_allowed: { status: 403, callerMayRetry: false },
  account_suspended: { status: 403, callerMayRetry: false },
  unknown_path: { status: 404, callerMayRetry: false },
  not_found: { status: 404, callerMayRetry: false },
  body_stalled: { status: 408, callerMayRetry: true },
  idempotency_conflict: { status: 409, callerMayRetry: false },
  body_too_large: { status: 413, callerMayRetry: false },
  unsupported_encoding: { status: 415, callerMayRetry: false },
  unsupported_media_type: { status: 415, callerMayRetry: false },
  websocket_unsupported: { status: 426, callerMayRetry: false },
  rate_limited: { status: 429, callerMayRetry: true },
  too_many_concurrent: { status: 429, callerMayRetry: true },
  client_closed: { status: 499, callerMayRetry: false },
  upstream_rejected: { status: 400, callerMayRetry: false },
  upstream_rate_limited: { status: 429, callerMayRetry: true },
  upstream_error: { status: 502, callerMayRetry: false },
  upstream_auth: { status: 502, callerMayRetry: false },
  upstream_timeout: { status: 504, callerMayRetry: false },
  no_channel: { status: 503, callerMayRetry: true },
  billing_unavailable: { status: 503, callerMayRetry: true },
  shutting_down: { status: 503, callerMayRetry: true },
  overloaded: { status: 503, callerMayRetry: true },
  internal_error: { status: 500, callerMayRetry: false },
} as const satisfies Record<string, KindRow>

/** What went wrong, as callers are told it: their `error.code`, unless an upstream's own is known. */
export type ErrorKind = keyof typeof KINDS

/**
 * What an upstream's complaint is about, where the kind does not tell: the key, or one model with it, or reasoning of
 * earlier turns that it did not make, or summaries of thoughts that it gives the key's owner none of, or the wish that a
 * model thinks which does not.
 */
export type Blamed = 'key' | 'model' | 'reasoning' | 'thought-summary' | 'thinking'

/** What of an error its kind does not say. */
interface GatewayErrorOptions {
  /** The request field that is wrong, as a path in the caller's body (`messages[2].content`). */
  param?: string | undefined
  /** Overrides the kind's status, where the upstream's own is passed on. */
  status?: number | undefined
  /** The machine-readable code, where it is the upstream's own and not the kind. */
  code?: string | undefined
  /** When the caller may try again, in ms. */
  retryAfterMs?: number | undefined
  /** Where another attempt could succeed; `never` unless said. */
  retry?: Retry | undefined
  /** Overrides what the kind says of trying again. */
  callerMayRetry?: boolean | undefined
  blames?: Blamed | undefined
  /** The upstream fell silent in the middle of its answer: the exchange ends as stalled. */
  isStall?: boolean | undefined
  /** The upstream closed before the end of its answer: the exchange ends as cut. */
  isCut?: boolean | undefined
  /** For the log only: may name addresses and internals, never secrets. */
  detail?: string | undefined
  /** Fields for the vendor's own details object (Anthropic's `error.details`). */
  details?: Readonly<Record<string, unknown>> | undefined
  cause?: unknown
}

/** The one error of the gateway. `message` is safe to show to the caller; `detail` and `cause` go to the log. */
export class GatewayError extends Error {
  readonly kind: ErrorKind
  readonly status: number
  readonly code: string
  readonly param: string | undefined
  readonly retry: Retry
  readonly retryAfterMs: number | undefined
  readonly callerMayRetry: boolean
  readonly blames: Blamed | undefined
  readonly isStall: boolean
  readonly isCut: boolean
  readonly detail: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(kind: ErrorKind, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const row: KindRow = KINDS[kind]
    this.name = 'GatewayError'
    this.kind = kind
    this.status = options.status ?? row.status
    this.code = options.code ?? kind
    this.param = options.param
    this.retry = options.retry ?? 'never'
    this.retryAfterMs = options.retryAfterMs
    this.callerMayRetry = options.callerMayRetry ?? row.callerMayRetry
    this.blames = options.blames
    this.isStall = options.isStall ?? false
    this.isCut = options.isCut ?? false
    this.detail = options.detail
    this.details = options.details
  }
}

/** The error as a GatewayError: itself, or an `internal_error` that keeps the original for the log only. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError('internal_error', 'The gateway failed to handle this request', {
    detail: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    cause: error,
  })
}

/** The message with the request id at its end, as every error of the API host shows it. */
export function messageWithId(error: GatewayError, requestId: string): string {
  return `${error.message} (request id: ${requestId})`
}
