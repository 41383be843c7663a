import type { ErrorKind } from '@/errors/gateway-error.ts'

/** Why a request was not served, for whoever has nothing but its receipt; the caller was told the particulars. */
const REASONS: Readonly<Record<ErrorKind, string>> = {
  invalid_json: 'Its body was no JSON.',
  invalid_request: 'Its body was wrong; its answer named the field.',
  model_not_found: 'There is no such model, or the account or the key does not reach it.',
  surface_not_supported: 'The model is not offered on this surface.',
  unsupported_parameter: 'It asked for something that no channel of the model can be told.',
  previous_response_not_found: 'It continued a response that is not stored.',
  missing_api_key: 'It came without a key.',
  invalid_api_key: 'Its key is unknown, expired or revoked.',
  credit_exhausted: 'The credit did not pay for what it could have cost at most.',
  credit_reserved: 'The credit was set aside for requests that were still running.',
  key_budget_exhausted: "The key's spending cap did not pay for what it could have cost at most.",
  ip_not_allowed: 'The key may not be used from where it came.',
  account_suspended: 'The account was suspended.',
  unknown_path: 'There is nothing at its path.',
  not_found: 'What it asked for is not there, or is of another account.',
  body_stalled: 'Its body stopped coming before its end.',
  idempotency_conflict: 'Its Idempotency-Key had been used for another body.',
  body_too_large: 'Its body was larger than may be sent.',
  unsupported_encoding: 'Its body was packed in a way that is not read here.',
  unsupported_media_type: 'Its body was of a type that is not read here.',
  websocket_unsupported: 'It asked for a WebSocket where there is none.',
  rate_limited: 'More was asked in a minute than the account or the key may.',
  too_many_concurrent: 'As many requests as the account or the key may have were running.',
  client_closed: 'The client left before its end.',
  upstream_rejected: 'The vendor found it wrong; its answer had the words of the vendor.',
  upstream_rate_limited: 'The vendor took no more just then, and no other channel could serve it.',
  upstream_error: 'The vendor failed, and no other channel could serve it.',
  upstream_auth: 'The vendor does not take the key of the channel, or wants to be paid.',
  upstream_timeout: 'The vendor did not answer in time.',
  no_channel: 'No channel could serve the model just then.',
  billing_unavailable: 'The books could not be written in time, and nothing is served unpaid.',
  shutting_down: 'The gateway was being stopped.',
  overloaded: 'The gateway had more to do than it could just then.',
  internal_error: 'The gateway failed; its log has more under the request id.',
}

/** Null of no error, and of one that an older version stored and nobody has now. */
export function errorReason(code: string | null): string | null {
  return Object.entries(REASONS).find(([kind]) => kind === code)?.[1] ?? null
}
