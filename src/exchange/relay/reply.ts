import type { GatewayError } from '@/errors/gateway-error.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { CODECS } from '@/formats/registry.ts'
import { SURFACE_FORMAT, type Surface } from '@/generation/surface.ts'
import { limitHeaders } from '@/limits/headers.ts'
import { formatMoney } from '@/pricing/money.ts'

/** 429s and 503s without a time of their own say this. */
const DEFAULT_RETRY_AFTER_MS = 1000

/** Headers of every answer: whose request it was, under the names that the surface's clients read. */
export function identityHeaders(requestId: string, surface: Surface | undefined): Record<string, string> {
  return addIdentity({}, requestId, surface)
}

function addIdentity(
  headers: Record<string, string>,
  requestId: string,
  surface: Surface | undefined,
): Record<string, string> {
  headers['x-request-id'] = requestId
  if (surface === 'messages') headers['request-id'] = requestId
  return headers
}

/** Headers of a streamed answer: nothing between us and the caller may hold it back or change it. */
export function streamHeaders(framing: 'sse' | 'json-array'): Record<string, string> {
  return {
    'content-type':
      framing === 'sse' ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  }
}

/** Whether what is of this type comes as events. */
export function isEventStream(contentType: string | null): boolean {
  return contentType?.startsWith('text/event-stream') === true
}

/** An error as an answer in the shape of the surface; without a surface in OpenAI's, as for unknown paths. */
export function errorResponse(
  error: GatewayError,
  requestId: string,
  surface: Surface | undefined,
  limits: Record<string, string> = {},
): Response {
  const codec = CODECS[surface === undefined ? 'openai-chat-completions' : SURFACE_FORMAT[surface]]
  return Response.json(codec.encodeError(error, requestId), {
    status: error.status,
    headers: {
      ...identityHeaders(requestId, surface),
      ...limits,
      ...retryHeaders(error, surface),
      // What else comes of the body would be read as the next request.
      ...(error.kind === 'body_stalled' && { connection: 'close' }),
    },
  })
}

function retryHeaders(error: GatewayError, surface: Surface | undefined): Record<string, string> {
  const headers: Record<string, string> = {}
  if (!error.callerMayRetry && error.status !== 400 && error.status !== 404)
    headers['x-should-retry'] = 'false'
  const waits = error.status === 429 || error.status === 503
  const retryAfterMs = error.retryAfterMs ?? (waits ? DEFAULT_RETRY_AFTER_MS : undefined)
  if (retryAfterMs === undefined) return headers
  headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  if (surface !== undefined && surface !== 'messages' && surface !== 'gemini')
    headers['retry-after-ms'] = String(Math.ceil(retryAfterMs))
  return headers
}

/** How the caller's limits stand, in the names of the surface's vendor; nothing before they were asked. Added to `headers`. */
export function limitHeadersOf(
  record: ExchangeRecord,
  now: number,
  headers: Record<string, string> = {},
): Record<string, string> {
  if (record.limits === undefined) return headers
  limitHeaders(record.surface, record.limits, now, headers)
  if (record.tellsOperators && record.limitsAreDegraded) headers['x-gateway-limits'] = 'degraded'
  return headers
}

/** Headers of an answer that succeeded so far, added to those of its content. */
export function answerHeaders(
  record: ExchangeRecord,
  now: number,
  headers: Record<string, string> = {},
): Record<string, string> {
  addIdentity(headers, record.id, record.surface)
  limitHeadersOf(record, now, headers)
  headers['x-tollgate-model'] = headerText(record.model ?? '')
  const { channel } = record
  if (record.tellsOperators && channel !== undefined) headers['x-tollgate-channel'] = headerText(channel)
  if (record.losses.length > 0) headers['x-tollgate-losses'] = headerText(record.losses.join(', '))
  return headers
}

/** Headers of an answer that came whole, with what it has cost as a decimal in the deployment's currency. */
export function wholeHeaders(
  record: ExchangeRecord,
  now: number,
  contentType: string,
): Record<string, string> {
  const headers = answerHeaders(record, now, { 'content-type': contentType })
  if (record.charge !== undefined) headers['x-tollgate-cost'] = formatMoney(record.charge.nano)
  return headers
}

/** A text as the value of a header, which is ASCII: a `?` stands for every other character. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
