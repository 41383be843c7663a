import { type Blamed, GatewayError, type Retry } from '@/errors/gateway-error.ts'
import {
  type Complaint,
  isAboutConnector,
  isAboutModel,
  isAboveMinute,
  isForOtherChannel,
  isSpent,
  isTooDear,
  refusedWish,
  refusesCredentials,
} from './complaint.ts'

/** Statuses that are about the caller's own request and go back as they are; a 403 where it does not refuse our credentials. */
const ABOUT_THE_REQUEST = new Set([400, 403, 404, 405, 406, 409, 410, 413, 414, 415, 416, 422, 431, 451])

/** No quota comes back later than in a day. Clients do as they are told, so a vendor's slip is not passed on. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000

/**
 * Decides whose fault an upstream's complaint is and where another attempt could succeed. The one place where that
 * is known; nobody guesses it later.
 */
export function judge(complaint: Complaint): GatewayError {
  const { status, message } = complaint
  const blames = isAboutModel(complaint) ? 'model' : refusedWish(complaint)
  const retryAfterMs = plausible(complaint.retryAfterMs)
  if (isAboutConnector(complaint)) return rejected(complaint, { status: 424, retry: 'never' })
  if (isAboveMinute(complaint)) return rejected(complaint, { status: 413, retry: 'next-channel' })
  if (isLimit(status, retryAfterMs)) {
    return new GatewayError('upstream_rate_limited', `The upstream's limit is reached: ${message}`, {
      retry: 'next-channel',
      retryAfterMs: retryAfterMs ?? 1000,
      blames: isSpent(complaint) ? 'key' : undefined,
    })
  }
  if (isTooDear(complaint)) {
    return new GatewayError('upstream_rejected', `The upstream's account is short of credit: ${message}`, {
      // A 402 would be about the caller's own.
      status: 502,
      retry: 'next-channel',
    })
  }
  if (refusesCredentials(complaint)) {
    return new GatewayError(
      'upstream_auth',
      `The upstream refused the gateway's own credentials (status ${status}): ${message}`,
      { retry: 'next-channel', blames },
    )
  }
  if (ABOUT_THE_REQUEST.has(status)) {
    return rejected(complaint, {
      status,
      // The caller named a model that we have; that the upstream has not is a matter of the channel, and so are its ways.
      retry: blames === 'model' || isForOtherChannel(complaint) ? 'next-channel' : 'never',
      blames: complaint.foreignReasoning === true ? 'reasoning' : blames,
    })
  }
  if (status === 503 || status === 529) {
    return new GatewayError('upstream_error', `The upstream is overloaded (status ${status}): ${message}`, {
      status: 503,
      retry: 'next-channel',
      retryAfterMs: retryAfterMs ?? 1000,
    })
  }
  return new GatewayError('upstream_error', `The upstream failed (status ${status}): ${message}`, {
    retry: 'next-channel',
    retryAfterMs,
  })
}

/** A complaint about the request, as the caller is told of it. */
function rejected(
  { message, contextLength, code = 'invalid_request', param, details }: Complaint,
  told: { status: number; retry: Retry; blames?: Blamed | undefined },
): GatewayError {
  return new GatewayError('upstream_rejected', message, {
    ...told,
    // The one word by which clients of every vendor know that a shorter prompt would do, and compact theirs.
    code: contextLength === true ? 'context_length_exceeded' : code,
    param,
    details,
  })
}

/**
 * A limit of the moment: Groq's 498 is one of a tier, and of OpenRouter's 402 those that say when to come back:
 * https://console.groq.com/docs/errors, https://openrouter.ai/docs/api/reference/errors-and-debugging
 */
function isLimit(status: number, retryAfterMs: number | undefined): boolean {
  return status === 429 || status === 498 || (status === 402 && retryAfterMs !== undefined)
}

/** A time that has passed, or is no wait at all, says no more than none. */
function plausible(retryAfterMs = 0): number | undefined {
  return retryAfterMs > 0 ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : undefined
}

/** Retry-After and its kin as ms: seconds, an HTTP date, or OpenAI's `retry-after-ms`; undefined when absent. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return exact
  const value = headers.get('retry-after')
  if (value === null) return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
