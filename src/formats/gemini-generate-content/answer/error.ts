import type { GatewayError } from '@/errors/gateway-error.ts'
import { messageWithContextWords } from '@/formats/faults/context-words.ts'
import type { JsonObject } from '@/json/json.ts'

/** Google's canonical name for a status: https://cloud.google.com/apis/design/errors */
function statusName(status: number): string {
  const name = STATUS_NAMES[status]
  return name ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT')
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  426: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
}

/** How the vendor's complaint of a prompt that is too long goes on; its beginning holds a number. */
const TOO_LONG = 'exceeds the maximum number of tokens allowed'

/** The body `{error: {code, message, status, details}}`; the reason is the gateway's own code. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  return {
    error: {
      code: error.status,
      message: messageWithContextWords(error, requestId, `The input token count ${TOO_LONG}`, TOO_LONG),
      status: statusName(error.status),
      details: errorDetails(error),
    },
  }
}

function errorDetails(error: GatewayError): JsonObject[] {
  const info: JsonObject = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: error.code,
    domain: 'tollgate',
  }
  if (error.param !== undefined) info['metadata'] = { param: error.param }
  if (error.retryAfterMs === undefined) return [info]
  const retryDelay = `${error.retryAfterMs / 1000}s`
  return [info, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }]
}

/** An error inside a stream; the relay then breaks the connection, which is what every client notices. */
export function encodeErrorEvent(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(encodeError(error, requestId))}\r\n\r\n`
}
