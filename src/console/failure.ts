import type { Failure, FailureCode } from './api/contract/route.ts'

const STATUSES = {
  invalid_request: 400,
  unauthenticated: 401,
  second_factor_required: 401,
  wrong_credentials: 401,
  forbidden: 403,
  not_found: 404,
  refused: 409,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
} as const satisfies Record<FailureCode, number>

interface ConsoleErrorOptions {
  /** The field of the request that is wrong. */
  field?: string | undefined
  /** When it may be tried again, in ms. */
  retryAfterMs?: number | undefined
  cause?: unknown
}

/** Why the console answers with an error. The message is for the person in front of the page. */
export class ConsoleError extends Error {
  readonly code: FailureCode
  readonly status: number
  readonly field: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: FailureCode, message: string, options: ConsoleErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ConsoleError'
    this.code = code
    this.status = STATUSES[code]
    this.field = options.field
    this.retryAfterMs = options.retryAfterMs
  }
}

/** The one text for what is not there and for what belongs to somebody else. */
export function notFound(what: string): ConsoleError {
  return new ConsoleError('not_found', `There is no such ${what}`)
}

/** A request whose field is wrong. */
export function invalid(field: string, message: string): ConsoleError {
  return new ConsoleError('invalid_request', message, { field })
}

/** The error for a person whose browser went to a route by itself, as to a statement. */
export function failurePage({ status, message }: ConsoleError): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tollgate</title></head>
<body><p>${Bun.escapeHTML(message)}.</p><p><a href="/">Go to the console</a></p></body>
</html>
`
  return new Response(html, { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
}

/** The error as the API shows it. */
export function failureResponse(error: ConsoleError): Response {
  const seconds = error.retryAfterMs === undefined ? undefined : Math.ceil(error.retryAfterMs / 1000)
  const body: Failure = {
    error: {
      code: error.code,
      message: error.message,
      ...(error.field === undefined ? {} : { field: error.field }),
      ...(seconds === undefined ? {} : { retry_after: seconds }),
    },
  }
  const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) }
  return Response.json(body, { status: error.status, headers })
}
