import { type GatewayError, messageWithId } from '@/errors/gateway-error.ts'
import { isContextLength } from '@/formats/faults/context-words.ts'
import type { JsonObject } from '@/json/json.ts'

/** OpenAI's error `type` for a status; one table for every OpenAI surface and for unknown paths. */
function openaiErrorType(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error'
    case 402:
      return 'insufficient_quota'
    case 403:
      return 'permission_error'
    case 409:
      return 'conflict'
    case 429:
      return 'rate_limit_error'
    default:
      return status >= 500 ? 'api_error' : 'invalid_request_error'
  }
}

/** The body `{error: {message, type, param, code}}` of OpenAI's surfaces. */
export function encodeOpenaiError(error: GatewayError, requestId: string): JsonObject {
  return {
    error: {
      message: messageWithId(error, requestId),
      type: openaiErrorType(error.status),
      param: error.param ?? null,
      code: isContextLength(error) ? 'context_length_exceeded' : error.code,
    },
  }
}
