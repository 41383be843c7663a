import { pipeline, Readable } from 'node:stream'
import type { Deadlines } from '@/clock/deadlines.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import {
  DECOMPRESSING_STREAMS,
  decompressInSteps,
  type Encoding,
  encodingsIn,
  isEncoding,
} from '@/net/content-encoding.ts'
import { arrivalOf, type BodyTerms, GrowingRoom, piecesOf, tooLarge } from './body-arrival.ts'

/**
 * Reads a body of any kind and decodes it.
 * @throws GatewayError `body_too_large`, `body_stalled`, `unsupported_encoding`, `overloaded`, and `invalid_request` for
 * what cannot be decoded
 */
export function readBytes(request: Request, terms: BodyTerms): Promise<Uint8Array> {
  const read = takeRead(request)
  if (read !== undefined) return Promise.resolve(read)
  const encoding = request.headers.get('content-encoding')
  return encoding === null ? arrivalOf(request, terms) : readEncoded(request, encoding, terms)
}

async function readEncoded(request: Request, header: string, terms: BodyTerms): Promise<Uint8Array> {
  const encodings = readEncodings(header)
  let bytes = await arrivalOf(request, terms)
  const room = new GrowingRoom(terms)
  try {
    for (const encoding of encodings.toReversed()) {
      bytes = await decoded(bytes, encoding, terms.maxBodyBytes, room)
    }
    return bytes
  } finally {
    room.giveBack()
  }
}

/** The bodies of requests that were made anew, until somebody asks for them. */
const READ = new WeakMap<Request, Uint8Array>()

/** A request anew, with a body that was read and decoded: whoever reads it gets these bytes, and needs no room for more. */
export function requestAgain(request: Request, body: Uint8Array, signal: AbortSignal): Request {
  const headers = new Headers(request.headers)
  for (const name of OF_THE_FIRST_READING) headers.delete(name)
  const again = new Request(request.url, { method: request.method, headers, signal })
  READ.set(again, body)
  return again
}

const OF_THE_FIRST_READING = ['content-encoding', 'content-length', 'transfer-encoding', 'idempotency-key']

function takeRead(request: Request): Uint8Array | undefined {
  const read = READ.get(request)
  if (read !== undefined) READ.delete(request)
  return read
}

/**
 * The decoded bytes of a body as they come, for what is too large to be kept.
 * @throws GatewayError `body_too_large`, `body_stalled`, `unsupported_encoding`; `invalid_request` for what is not so encoded
 */
export async function* openBody(request: Request, terms: BodyTerms): AsyncGenerator<Uint8Array> {
  const read = takeRead(request)
  if (read !== undefined) return yield read
  const { maxBodyBytes, deadlines } = terms
  const encodings = readEncodings(request.headers.get('content-encoding'))
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes)
  let total = 0
  try {
    for await (const chunk of decodedPieces(request.body, encodings, deadlines)) {
      total += chunk.length
      if (total > maxBodyBytes) throw tooLarge(maxBodyBytes)
      yield chunk
    }
  } catch (error) {
    if (error instanceof GatewayError || encodings.length === 0) throw error
    throw invalid(encodings.join(', '), error)
  }
}

function decodedPieces(
  body: ReadableStream<Uint8Array> | null,
  encodings: Encoding[],
  deadlines: Deadlines,
): AsyncIterable<Uint8Array> {
  if (body === null) return Readable.from([])
  const pieces = piecesOf(body, deadlines)
  if (encodings.length === 0) return pieces
  return encodings.toReversed().reduce<Readable>((source, encoding) => {
    const stream = DECOMPRESSING_STREAMS[encoding]()
    return pipeline(source, stream, () => undefined)
  }, Readable.from(pieces))
}

/** Each may be as large as a body can be: a head has room for three thousand, which would be minutes of work. */
const MOST_ENCODINGS = 4

function readEncodings(header: string | null): Encoding[] {
  const names = encodingsIn(header)
  if (names.length > MOST_ENCODINGS) {
    throw new GatewayError(
      'unsupported_encoding',
      `The body has more than ${MOST_ENCODINGS} content-encodings, one within the other`,
    )
  }
  return names.map(name => {
    if (isEncoding(name)) return name
    throw new GatewayError(
      'unsupported_encoding',
      `The content-encoding '${name.slice(0, 40)}' is not supported; use zstd, gzip, br, deflate or none`,
    )
  })
}

async function decoded(
  bytes: Uint8Array,
  encoding: Encoding,
  maxBytes: number,
  room: GrowingRoom,
): Promise<Uint8Array> {
  const grow = (most: number) => room.growTo(most)
  const plain = await decompressInSteps(bytes, encoding, maxBytes, grow).catch(error => {
    throw error instanceof GatewayError ? error : invalid(encoding, error)
  })
  if (plain === undefined) throw tooLarge(maxBytes)
  return plain
}

function invalid(encodings: string, cause: unknown): GatewayError {
  return new GatewayError('invalid_request', `The body is not valid ${encodings} data`, { cause })
}
