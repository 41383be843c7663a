import type { GatewayError } from '@/errors/gateway-error.ts'
import type { ErrorType } from '@/formats/anthropic-messages/wire.ts'
import { messageWithContextWords } from '@/formats/faults/context-words.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { formatEvent } from '@/sse/event.ts'

/** Anthropic's error `type` for a status: https://platform.claude.com/docs/en/api/errors */
function errorType(status: number): ErrorType {
  switch (status) {
    case 401:
      return 'authentication_error'
    case 402:
      return 'billing_error'
    case 403:
      return 'permission_error'
    case 404:
      return 'not_found_error'
    case 409:
      return 'conflict_error'
    case 413:
      return 'request_too_large'
    case 429:
      return 'rate_limit_error'
    case 408:
    case 504:
      return 'timeout_error'
    case 503:
    case 529:
      return 'overloaded_error'
    default:
      return status >= 500 ? 'api_error' : 'invalid_request_error'
  }
}

/** How the vendor's complaint of a prompt that is too long begins. */
const TOO_LONG = 'prompt is too long'

/** The body `{type: "error", error: {type, message, code, details?}, request_id}`. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  return {
    type: 'error',
    error: {
      type: errorType(error.status),
      message: messageWithContextWords(error, requestId, TOO_LONG, TOO_LONG),
      code: error.code,
      ...(error.details !== undefined && { details: jsonOf(error.details) }),
    },
    request_id: requestId,
  }
}

/** The event that ends a stream in which output was already sent. Blocks stay open, as the vendor leaves them. */
export function encodeErrorEvent(error: GatewayError, requestId: string): string {
  return formatEvent('error', JSON.stringify(encodeError(error, requestId)))
}

/** Details are built by us from JSON values; only their declared type is wider. */
function jsonOf(details: Readonly<Record<string, unknown>>): JsonValue {
  return details as JsonObject
}
