import { isUtf8 } from 'node:buffer'
import { GatewayError } from '@/errors/gateway-error.ts'
import { isJsonObject, type JsonObject, MAX_PARTS, MAX_VALUES } from '@/json/json.ts'
import { strictJson } from '@/json/lenient.ts'
import { type Outline, PLAIN_TEXTS, readOutline, type Texts } from '@/json/outline.ts'
import { holdsUp } from '@/json/parts.ts'
import { findRepeats } from '@/json/repeats.ts'
import { OPEN_BRACE, startOf } from '@/json/scan.ts'
import { applyPatches, type JsonEdit, spliceJson } from '@/json/splice.ts'
import type { BodyTerms } from './body-arrival.ts'
import { SINGLE } from './decisive-names.ts'
import { readBytes } from './request-bytes.ts'

/** A caller's body, read once: the decoded bytes as they will be forwarded, and what they say. */
export interface RequestBody {
  readonly bytes: Uint8Array
  /** All that the bytes say. Of a large body it is made when it is first asked for, and that is expensive. */
  readonly json: JsonObject
  /** A large body without its long strings, which is all that handing it on needs to know. */
  readonly outline?: Outline | undefined
}

/** What a body says in short: long strings may be placeholders, which `textsOf` the body knows. */
export function outlineOf(body: RequestBody): JsonObject {
  return body.outline?.json ?? body.json
}

/** What the strings of `outlineOf` the body stand for. */
export function textsOf(body: RequestBody): Texts {
  return body.outline ?? PLAIN_TEXTS
}

/**
 * Whether a text is spelled in a body: of a large one, outside of its long strings or where one of those begins.
 * @param text as bytes, which are found eight times as fast as a string
 */
export function mentions({ bytes, outline }: RequestBody, text: Buffer): boolean {
  return outline?.mentions(text) ?? asBuffer(bytes).includes(text)
}

/**
 * The bytes of a body with edits, and with not another byte changed (`spliceJson`); its own if there are none. Those of a
 * large body are lent: they may stand in the body's own memory, and are good until somebody asks for its bytes again.
 */
export function editBody(body: RequestBody, edits: readonly JsonEdit[]): Uint8Array {
  if (edits.length === 0) return body.bytes
  return body instanceof OutlinedBody ? body.lend(edits) : spliceJson(body.bytes, edits, body.json)
}

/**
 * Reads and parses a JSON body. The limit holds for what arrives and for what it decodes to, so a small body that
 * unpacks to a huge one is refused as soon as it is too large.
 * @throws GatewayError `body_too_large`, `body_stalled`, `overloaded` where there is no memory for it, `unsupported_encoding`,
 * `unsupported_media_type`, `invalid_json`, `invalid_request` for what is no object, and for one of so many parts that reading
 * it would hold up everybody else
 */
export function readBody(request: Request, terms: BodyTerms): Promise<RequestBody> {
  return readAs(bodyOf, request, terms)
}

/**
 * The same of what Google's parser takes, which is more than JSON. What is sent on is JSON.
 * @throws GatewayError as `readBody` does
 */
export function readGoogleBody(request: Request, terms: BodyTerms): Promise<RequestBody> {
  return readAs(googleBodyOf, request, terms)
}

async function readAs(
  parsed: (bytes: Uint8Array) => RequestBody,
  request: Request,
  terms: BodyTerms,
): Promise<RequestBody> {
  const declared = declaredAs(request.headers.get('content-type'))
  if (declared === 'other') throw notJson()
  const bytes = await readBytes(request, terms)
  if (declared === 'unsaid' && bytes.length > 0 && !beginsObject(bytes)) throw notJson()
  return withoutRepeats(parsed(bytes))
}

/**
 * A body of these bytes, parsed or outlined.
 * @throws GatewayError `invalid_json`, `invalid_request` as `readBody` does
 */
export function bodyOf(bytes: Uint8Array): RequestBody {
  const outline = bytes.length < LARGE_BYTES ? undefined : readOutline(bytes)
  return outline === undefined ? { bytes, json: parse(bytes) } : new OutlinedBody(bytes, outline)
}

/** Whoever writes JSON by hand writes no more. */
const MAX_LENIENT_BYTES = 1024 * 1024

function googleBodyOf(bytes: Uint8Array): RequestBody {
  try {
    return bodyOf(bytes)
  } catch (error) {
    const isUnread = error instanceof GatewayError && error.kind === 'invalid_json'
    if (!isUnread || bytes.length > MAX_LENIENT_BYTES || !isUtf8(bytes)) throw error
    return bodyOf(Buffer.from(strictJson(asBuffer(bytes).toString())))
  }
}

/** Of what decides the cost and is said twice the last is reckoned with, and so it alone is sent. */
function withoutRepeats(body: RequestBody): RequestBody {
  const bytes = asBuffer(body.bytes)
  const repeats = body.outline?.findRepeats(SINGLE) ?? findRepeats(bytes, body.json, SINGLE)
  return repeats.length === 0 ? body : bodyOf(applyPatches(bytes, repeats))
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}

/** From here on an outline is sooner made than parsed. */
const LARGE_BYTES = 32 * 1024

/** A large body, known to be valid JSON. */
class OutlinedBody implements RequestBody {
  readonly outline: Outline
  readonly #bytes: Uint8Array
  #takeBack: (() => void) | undefined
  #json: JsonObject | undefined

  constructor(bytes: Uint8Array, outline: Outline) {
    this.#bytes = bytes
    this.outline = outline
  }

  /** As they came, whatever was made of them to be sent. */
  get bytes(): Uint8Array {
    this.#takeBack?.()
    this.#takeBack = undefined
    return this.#bytes
  }

  /** A copy of a large body would be the dearest part of handing it on, and most edits are a shorter name. */
  lend(edits: readonly JsonEdit[]): Uint8Array {
    this.#takeBack?.()
    const { bytes, undo } = this.outline.edit(edits)
    this.#takeBack = undo
    return bytes
  }

  get json(): JsonObject {
    this.#json ??= parse(this.bytes)
    return this.#json
  }
}

/**
 * Gives the memory of large bytes back at once and leaves them empty; to be called by their last reader. Left to the
 * collector, it would come back so late that each request touches new memory. Bytes that are part of a larger buffer
 * stay, since they may not be alone there, and so do those of the buffer that `kept` is in.
 */
export function freeBytes(bytes: Uint8Array, kept?: Uint8Array): void {
  // Asked first: small bytes have their buffer made when somebody wants it.
  if (bytes.byteLength < LARGE_BYTES) return
  const { buffer } = bytes
  if (buffer === kept?.buffer || bytes.byteLength !== buffer.byteLength) return
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

const JSON_TYPE = /^\s*(?:application|text)\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

/** Types that nobody may have chosen: `fetch` gives the first to every text, and the other says that nothing is known. */
const UNSAID_TYPE = /^\s*(?:text\/plain|application\/octet-stream)\s*(?:;|$)/i

/** What a type says of a body. A missing one is taken for JSON; `unsaid` is decided by how the body begins. */
function declaredAs(contentType: string | null): 'json' | 'unsaid' | 'other' {
  if (contentType === null || contentType === 'application/json' || JSON_TYPE.test(contentType)) return 'json'
  return contentType.trim() === '' || UNSAID_TYPE.test(contentType) ? 'unsaid' : 'other'
}

function notJson(): GatewayError {
  return new GatewayError(
    'unsupported_media_type',
    'This path takes a JSON body with the header content-type: application/json (curl -d alone says that it is a form)',
  )
}

function beginsObject(bytes: Uint8Array): boolean {
  const start = startOf(asBuffer(bytes))
  return bytes[start] === OPEN_BRACE
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws GatewayError `invalid_request` for JSON of so many parts that reading it would hold up everybody else */
export function refuseManyParts(bytes: Uint8Array): void {
  if (!holdsUp(bytes)) return
  throw new GatewayError(
    'invalid_request',
    `The body has more than ${MAX_PARTS} objects, arrays and members in all, or more than ${MAX_VALUES} values`,
  )
}

function parse(bytes: Uint8Array): JsonObject {
  refuseManyParts(bytes)
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    // The parser's own message can quote the body, so it stays out of the answer.
    throw new GatewayError(
      'invalid_json',
      bytes.length === 0 ? 'The body is empty' : 'The body is not valid JSON',
      {
        cause: error,
      },
    )
  }
  if (isJsonObject(value)) return value
  throw new GatewayError('invalid_request', 'The body must be a JSON object')
}
