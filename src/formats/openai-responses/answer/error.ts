import { type GatewayError, messageWithId } from '@/errors/gateway-error.ts'
import { errorInAnswer, faultOf } from '@/formats/faults/fault.ts'
import { asNumber, asObject, asString, type JsonObject } from '@/json/json.ts'
import { formatEvent } from '@/sse/event.ts'
import { emptyResponse } from './reply.ts'

/** The error inside a response whose status is `failed` or `cancelled`. */
export function responseError(response: JsonObject): GatewayError {
  const message = `The response was ${asString(response['status']) ?? 'failed'}`
  return errorInAnswer({ error: asObject(response['error']) ?? { message } })
}

/** The `error` object of a failed response. */
export function encodeFailure(error: GatewayError, requestId: string): { code: string; message: string } {
  return { code: failureCode(error), message: messageWithId(error, requestId) }
}

/** What the `error` event says before a response has failed. */
export function encodeErrorFields(error: GatewayError, requestId: string) {
  return errorFields({ ...encodeFailure(error, requestId), param: error.param ?? null })
}

/**
 * The `error` event that OpenAI writes before `response.failed`. Its SDKs throw on that, and frameworks that know no
 * `response.failed` take what came before it for the whole answer. Nested in OpenAI's traffic, flat in its types: both.
 */
export function errorFields(fields: { code: string; message: string; param: string | null }) {
  return { ...fields, error: { type: fields.code, ...fields } }
}

/**
 * Codex acts on these whatever the status was. `context_length_exceeded` makes it compact its history,
 * `insufficient_quota` makes it stop asking.
 */
const CODES_KEPT: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_prompt',
  'rate_limit_exceeded',
])

/** The API's own vocabulary is closed: `server_error`, `rate_limit_exceeded`, `invalid_prompt` and image faults. */
function failureCode(error: GatewayError): string {
  const fault = faultOf(error)
  if (fault?.contextLength === true) return 'context_length_exceeded'
  const code = fault?.code ?? error.code
  if (CODES_KEPT.has(code)) return code
  const status = fault?.status ?? error.status
  if (status === 429) return 'rate_limit_exceeded'
  if (status === 402) return 'insufficient_quota'
  return status < 500 ? 'invalid_prompt' : 'server_error'
}

/**
 * The last events of a stream that broke: they continue the upstream's numbering. Where nothing was written yet, the response
 * is announced before it fails: OpenAI's own helper reads no message of one that was not.
 */
export function encodeErrorEvent(
  error: GatewayError,
  requestId: string,
  lastData: JsonObject | undefined,
): string {
  const known = asObject(lastData?.['response'])
  const number = asNumber(lastData?.['sequence_number'])
  const begun = {
    ...emptyResponse(asString(known?.['id']) ?? responseId(requestId), asString(known?.['model']) ?? ''),
    created_at: asNumber(known?.['created_at']) ?? 0,
  }
  const isFirst = number === undefined && known?.['id'] === undefined
  const announced = isFirst ? ['response.created', 'response.in_progress'] : []
  const next = (number ?? -1) + 1
  const failed = { ...begun, status: 'failed', error: encodeFailure(error, requestId) }
  const events: [type: string, fields: JsonObject][] = [
    ...announced.map((type): [string, JsonObject] => [type, { response: begun }]),
    ['error', encodeErrorFields(error, requestId)],
    ['response.failed', { response: failed }],
  ]
  return events
    .map(([type, fields], index) =>
      formatEvent(type, JSON.stringify({ type, sequence_number: next + index, ...fields })),
    )
    .join('')
}

/** The id of the response to a request. */
export function responseId(requestId: string): string {
  return `resp_${requestId.replaceAll('-', '')}`
}
