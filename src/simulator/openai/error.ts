import type { JsonObject } from '@/json/json.ts'
import type { Failure } from '@/simulator/failure.ts'

/** OpenAI's error body, in both of its formats. */
export function openaiErrorBody(failure: Failure): JsonObject {
  return {
    error: {
      message: failure.message,
      type: errorType(failure.status),
      param: failure.param,
      code: failure.code,
    },
  }
}

function errorType(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 402) return 'insufficient_quota'
  if (status === 403) return 'permission_error'
  if (status === 409) return 'conflict'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
