import { STATUS_CODES } from 'node:http'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { UpstreamFault } from '@/formats/codec.ts'
import {
  asArray,
  asNonEmpty,
  asNumber,
  asObject,
  asString,
  asStrings,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { redact, redactKeys } from './redaction.ts'
import { saysContextLength, saysForeignReasoning } from './sayings.ts'

/** Longest upstream text that is passed on, in UTF-16 units. */
const MAX_MESSAGE = 2000

/** Messages can hold JSON which holds a message; nobody was seen going deeper. */
const MAX_DEPTH = 4

/**
 * Reads an upstream's error body of any vendor: JSON in each of their shapes, the same inside an array or a
 * server-sent event, HTML, text, nothing. Never throws.
 */
export function decodeFault(status: number, body: string): UpstreamFault {
  const value = parseBody(body)
  if (value !== undefined) return decodeFaultValue(status, value)
  const named = status >= 300 ? status : 502
  return fault(named, { text: /^\s*</.test(body) ? undefined : body })
}

/** The same for a body that is parsed already. */
function decodeFaultValue(status: number, value: JsonValue): UpstreamFault {
  const complaint = readFault(value, 0)
  return fault(status >= 300 ? status : namedStatus(complaint), complaint)
}

/** An upstream's complaint as the error event of a stream that had begun; it keeps the fault it came from. */
class UpstreamFaultError extends GatewayError {
  readonly fault: UpstreamFault

  constructor(fault: UpstreamFault) {
    super('upstream_error', `The upstream failed with ${fault.status}: ${fault.message}`, {
      status: toldStatus(fault.status),
      retry: isCallersFault(fault.status) ? 'never' : 'next-channel',
      retryAfterMs: fault.retryAfterMs,
      detail: fault.code,
    })
    this.fault = fault
  }
}

/** A fault as the error event of a stream that had begun. */
export function faultError(fault: UpstreamFault): GatewayError {
  return new UpstreamFaultError(fault)
}

/** An error object in the place of an answer, or of an event of one. */
export function errorInAnswer(value: JsonValue): GatewayError {
  return faultError(decodeFaultValue(200, value))
}

/**
 * The error that an object is which has nothing of an answer, or of an event of one: an error object, or no more than words
 * of one, as FastAPI, vLLM, AWS and the gateways before them write it. Undefined where it says none.
 */
export function complaintIn(body: JsonObject): GatewayError | undefined {
  const { type, object } = body
  // Events of tomorrow have a type, too, and words perhaps.
  const isEvent = typeof type === 'string' && object !== 'error' && !/(?:error|exception)$/i.test(type)
  const says = isJsonObject(body['error']) || readFault(body, 0).text !== undefined
  return says && !isEvent ? errorInAnswer(body) : undefined
}

/** What stands in the place of an event and is no JSON: an error, in words, or an event that is broken. */
export function unreadableEvent(data: string): GatewayError {
  const isBroken = /^\s*[{[]/.test(data) && parseBody(data) === undefined
  return isBroken
    ? brokenAnswer("An event of the upstream's answer cannot be read")
    : faultError(decodeFault(200, data))
}

/** An answer that is none, or is not whole: another upstream may give one. */
export function brokenAnswer(problem: string): GatewayError {
  return new GatewayError('upstream_error', problem, { retry: 'next-channel' })
}

/**
 * An answer without its end. Agents that read it in a stream have no status to go by, and ask again where the words are
 * ones they know: "server error" (opencode, pi).
 */
export function cutAnswer(): GatewayError {
  return new GatewayError('upstream_error', "The upstream's answer ended early (server error)", {
    isCut: true,
    retry: 'next-channel',
  })
}

/** The fault that an error event was made from; undefined for errors of our own. */
export function faultOf(error: GatewayError): UpstreamFault | undefined {
  return error instanceof UpstreamFaultError ? error.fault : undefined
}

/**
 * What kind of error a stream ends in, since agents go by that where there is no status. What an upstream has against the
 * gateway's own credentials is not the caller's to mend.
 */
function toldStatus(status: number): number {
  if (status === 503 || status === 529) return 503
  const isOperators = status === 401 || status === 402 || status === 403
  return isOperators || status >= 500 ? 502 : status
}

/** Statuses by which an upstream complains about the request itself; it would fail anywhere. */
function isCallersFault(status: number): boolean {
  return status === 400 || status === 404 || status === 413 || status === 422
}

/** What a body says, before it is cleaned. */
interface RawFault {
  text?: string | undefined
  code?: string | undefined
  param?: string | undefined
  /** A number between 400 and 599 that the body holds as its code or status. */
  status?: number | undefined
  retryAfterMs?: number | undefined
  details?: JsonObject | undefined
}

function fault(status: number, complaint: RawFault): UpstreamFault {
  const raw = (complaint.text ?? '').trim()
  const said = /<!doctype|<html|<body/i.test(raw) ? '' : redact(beginningOf(raw)).slice(0, MAX_MESSAGE)
  const message = said === '' ? (STATUS_CODES[status] ?? `Status ${status}`) : said
  return {
    status,
    message,
    code: complaint.code && redactKeys(complaint.code),
    param: complaint.param && redactKeys(complaint.param),
    retryAfterMs: complaint.retryAfterMs ?? delayInText(status, raw),
    contextLength: saysContextLength(status, complaint.code, raw),
    foreignReasoning: saysForeignReasoning(status, { ...complaint, text: raw }),
    details: complaint.details,
  }
}

/** What is shown of a text, and as much again for what is taken out of it. It ends with a word, since half a key looks like none. */
function beginningOf(text: string): string {
  if (text.length <= 2 * MAX_MESSAGE) return text
  const beginning = text.slice(0, 2 * MAX_MESSAGE)
  const space = beginning.lastIndexOf(' ')
  return space < MAX_MESSAGE ? beginning : beginning.slice(0, space)
}

function parseBody(body: string): JsonValue | undefined {
  const event = /^(?:event:[^\n]*\n)?data:\s*(.*)/.exec(body.trimStart())
  try {
    const value: unknown = JSON.parse(event?.[1] ?? body)
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** JSON.parse gives nothing but JSON values; only the compiler does not know. */
function isJson(_value: unknown): _value is JsonValue {
  return true
}

function readFault(value: JsonValue | undefined, depth: number): RawFault {
  if (typeof value === 'string') return readText(value, depth)
  // Gemini's array stream, FastAPI's list of faults.
  if (Array.isArray(value)) return depth < MAX_DEPTH ? readFault(value[0], depth + 1) : {}
  const body = asObject(value)
  if (body === undefined || depth > MAX_DEPTH) return {}
  const outer = readFields(body, depth)
  const inner = body['error'] ?? body['errors'] ?? asObject(body['response'])?.['error'] ?? body['base_resp']
  if (inner === undefined || inner === null || inner === true) return outer
  const nested = readFault(inner, depth + 1)
  return {
    // A plain string beside a message is only a title (`{"error": "Not Found", "message": "..."}`).
    text: typeof inner === 'string' ? (outer.text ?? nested.text) : (nested.text ?? outer.text),
    code: nested.code ?? outer.code,
    param: nested.param ?? outer.param,
    status: nested.status ?? outer.status,
    retryAfterMs: nested.retryAfterMs ?? outer.retryAfterMs,
    details: nested.details ?? outer.details,
  }
}

/** A message: text, or JSON of an error as text (proxies nest what they got). */
function readText(text: string, depth: number): RawFault {
  const trimmed = text.trim()
  if (depth < MAX_DEPTH && /^[[{]/.test(trimmed)) {
    const value = parseBody(trimmed)
    const nested = value === undefined ? {} : readFault(value, depth + 1)
    if (nested.text !== undefined) return nested
  }
  return trimmed === '' ? {} : { text }
}

/** Where vendors have the words of a complaint. */
const MESSAGE_NAMES = ['message', 'msg', 'detail', 'status_msg', 'error_msg', 'errorMessage', 'Message']

function readFields(body: JsonObject, depth: number): RawFault {
  const said = MESSAGE_NAMES.map(name => body[name] ?? undefined).find(value => value !== undefined)
  const message: RawFault = said === undefined ? {} : readFault(said, depth + 1)
  // OpenRouter says "Provider returned error" and keeps the provider's own answer in metadata.raw.
  const raw = asObject(body['metadata'])?.['raw']
  const origin: RawFault = raw === undefined ? {} : readFault(raw, depth + 1)
  const details = asArray(body['details'])
  return {
    text: origin.text ?? message.text,
    code: origin.code ?? message.code ?? codeOf(body, details),
    param: asString(body['param']) ?? fieldPath(body['loc']) ?? origin.param ?? message.param,
    status: statusNumber(body) ?? message.status ?? origin.status,
    retryAfterMs: retryDelay(details) ?? message.retryAfterMs,
    details: machineDetails(asObject(body['details'])),
  }
}

/** The fields that clients act on, and no others: the rest may tell of the operator's own account. */
function machineDetails(details: JsonObject | undefined): JsonObject | undefined {
  const code = asString(details?.['error_code'])
  if (code === undefined) return undefined
  const unsupported = wordsOf(details?.['unsupported'])
  // Of images that are too large: how large they may be, and where they stand in the request.
  const side = asNumber(details?.['max_side_length_pixels'])
  const paths = wordsOf(details?.['paths'])
  return {
    error_code: redactKeys(code),
    ...(unsupported.length > 0 && { unsupported }),
    ...(side !== undefined && { max_side_length_pixels: side }),
    ...(paths.length > 0 && { paths }),
  }
}

function wordsOf(value: JsonValue | undefined): string[] {
  return asStrings(value).map(redactKeys)
}

function codeOf(body: JsonObject, details: readonly JsonValue[]): string | undefined {
  const reasons = details.map(detail => asString(asObject(detail)?.['reason']))
  const type = asString(body['type'])
  return (
    reasons.find(reason => reason !== undefined) ??
    asNonEmpty(body['code']) ??
    (type === 'error' || type === undefined || type === '' ? undefined : type) ??
    asNonEmpty(body['error_code']) ??
    asNonEmpty(body['status'])
  )
}

function statusNumber(body: JsonObject): number | undefined {
  for (const name of ['code', 'status', 'status_code', 'statusCode', 'http_code']) {
    const value = Number(body[name] ?? Number.NaN)
    if (Number.isInteger(value) && value >= 400 && value <= 599) return value
  }
  return MINIMAX.get(body['status_code'])
}

/** Numbers of MiniMax's in the place of a status: https://platform.minimax.io/docs/api-reference/errorcode */
const MINIMAX: ReadonlyMap<unknown, number> = new Map([
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1027, 400],
  [1039, 429],
  [1041, 429],
  [2013, 400],
  [2049, 401],
  [2056, 429],
])

function fieldPath(loc: JsonValue | undefined): string | undefined {
  const names = asArray(loc).filter(name => name !== 'body')
  return names.length === 0 ? undefined : names.join('.')
}

/** Google's RetryInfo: `{"@type": "...RetryInfo", "retryDelay": "34.4s"}`. */
function retryDelay(details: readonly JsonValue[]): number | undefined {
  for (const detail of details) {
    const delay = asString(asObject(detail)?.['retryDelay'])
    if (delay !== undefined) return durationMs(delay.slice(0, 100))
  }
  return undefined
}

/** OpenAI's and Azure's "Please try again in 1m30.5s", "retry after 10 seconds". */
function delayInText(status: number, text: string): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  const found = /(?:try again|retry)(?: in| after)\s+((?:\d+(?:\.\d+)?\s*(?:ms|h|m|s)[a-z]*\s*)+)/i.exec(text)
  return found?.[1] === undefined ? undefined : durationMs(found[1])
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function durationMs(text: string): number | undefined {
  let total: number | undefined
  for (const [, amount = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)\s*(milli|ms|h|m|s)/gi)) {
    total = (total ?? 0) + Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 1)
  }
  return total === undefined ? undefined : Math.ceil(total)
}

/** The status that an error inside a 200 means, by its number or else by its machine-readable word. */
function namedStatus(complaint: RawFault): number {
  if (complaint.status !== undefined) return complaint.status
  const code = (complaint.code ?? '').toLowerCase()
  for (const [word, status] of STATUS_WORDS) if (word.test(code)) return status
  return saysContextLength(400, undefined, complaint.text ?? '') ? 400 : 500
}

/** Codes, types and statuses of all vendors; the first that fits. */
const STATUS_WORDS: readonly (readonly [RegExp, number])[] = [
  [/overloaded/, 529],
  [/unavailable/, 503],
  [/insufficient_quota|rate_limit|resource_exhausted|too_many_requests|throttl/, 429],
  [/credit_balance_exhausted|(?:spend|usage)_limit_exceeded/, 429],
  [/billing|insufficient_(?:balance|credit)|payment/, 402],
  [/api_key|authentication|unauthenticated|unauthorized/, 401],
  [/permission|forbidden/, 403],
  [/not_found/, 404],
  [/too_large/, 413],
  [/timeout|deadline/, 504],
  [/context_length|invalid|failed_precondition|out_of_range|bad_request|unsupported|content_filter/, 400],
  [/policy|image_(?:too_small|parse_error)|empty_image|download_image/, 400],
]
