import type { ErrorCode } from '../../api/contract/words.ts'

/**
 * Why a request was not served, or not to its end, for whoever has nothing but its receipt; the caller was told the
 * particulars. Each is true of every place that makes its error.
 */
const REASONS: Readonly<Record<ErrorCode, string>> = {
  invalid_json: 'Its body was no JSON.',
  invalid_request:
    'It, or media at an address in it, was wrong, or it was larger than a minute allows; its answer said what.',
  model_not_found: 'There is no such model, or the account or the key does not reach it.',
  surface_not_supported: 'The model is not offered on this surface.',
  unsupported_parameter: 'It asked for something that is not served here, or that the vendor cannot be told.',
  previous_response_not_found: 'It continued a response that is not stored.',
  missing_api_key: 'It came without a key.',
  invalid_api_key: 'Its key is unknown, expired or revoked.',
  credit_exhausted:
    'The credit did not pay for what it could have cost at most, or was used up before its end. It takes more credit, or fewer output tokens at most.',
  credit_reserved:
    'The credit, or what the key may spend, was set aside for requests that were still running.',
  key_budget_exhausted:
    "The key's spending cap did not pay for what it could have cost at most, or was reached before its end.",
  ip_not_allowed: 'The key may not be used from where it came.',
  account_suspended: 'The account was suspended. Until an administrator resumes it, nothing is served.',
  unknown_path: 'There is nothing at its path.',
  not_found: 'What it asked for is not there, or not yet, or is of another account.',
  body_stalled: 'Its body came too slowly, or stopped before its end.',
  idempotency_conflict:
    'Its Idempotency-Key had been used for another request, or for one whose answer is not kept.',
  body_too_large: 'It was too large, by itself or with the conversation that it goes on with.',
  unsupported_encoding: 'Its body was packed in a way that is not read here.',
  unsupported_media_type: 'Its body was of a type that is not read here.',
  websocket_unsupported: 'It asked for a WebSocket where there is none, or none of its version.',
  rate_limited:
    'More was asked in a minute than the account or the key may; the answer said when to come back.',
  too_many_concurrent: 'As many requests, or connections, as there may be at once were there already.',
  client_closed: 'The client left before its end.',
  upstream_rejected: 'The vendor refused it; its answer had the words of the vendor.',
  upstream_rate_limited: 'The vendor took no more just then, and no other channel served it instead.',
  upstream_error:
    'The vendor failed, before its answer or within it, and no other channel served it instead.',
  upstream_auth: 'The vendor does not take the key of the channel, or wants to be paid.',
  upstream_timeout: 'The vendor did not answer in time, or fell silent before its end.',
  no_channel: 'No channel could serve it, or its model has no prices.',
  billing_unavailable: 'Its payment could not be written or kept up in time, and nothing is served unpaid.',
  shutting_down: 'The gateway was being stopped.',
  overloaded: 'The gateway had no room for it just then, or could not count its limits.',
  internal_error: 'The gateway failed; its log has more under the request id.',
}

/** Null of no error, and of one that an older version stored and nobody has now. */
export function errorReason(code: string | null): string | null {
  return Object.entries(REASONS).find(([kind]) => kind === code)?.[1] ?? null
}
