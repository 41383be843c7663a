import { pipeline, Readable, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { GatewayError } from '@/errors/gateway-error.ts'

/**
 * Reads a body of any kind and decodes it.
 * @throws GatewayError `body_too_large`, `unsupported_encoding`, `invalid_request` for what cannot be decoded
 */
export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')
  return encoding === null ? readLimited(request, maxBytes) : readEncoded(request, encoding, maxBytes)
}

async function readEncoded(request: Request, encoding: string, maxBytes: number): Promise<Uint8Array> {
  const encodings = readEncodings(encoding)
  let bytes = await readLimited(request, maxBytes)
  for (const encoding of encodings.reverse()) bytes = await decompress(bytes, encoding, maxBytes)
  return bytes
}

/** The headers of a request once its body was read and decoded, for a request with that body. */
export function decodedHeaders(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) kept.delete(name)
  return kept
}

/**
 * The decoded bytes of a body as they come, for what is too large to be kept.
 * @throws GatewayError `body_too_large`, `unsupported_encoding`; `invalid_request` for what is not so encoded
 */
export async function* openBody(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  const encodings = readEncodings(request.headers.get('content-encoding'))
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  let total = 0
  try {
    for await (const chunk of decoded(request.body, encodings)) {
      total += chunk.length
      if (total > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  } catch (error) {
    if (error instanceof GatewayError || encodings.length === 0) throw error
    throw new GatewayError('invalid_request', `The body is not valid ${encodings.join(', ')} data`, {
      cause: error,
    })
  }
}

function decoded(body: ReadableStream<Uint8Array> | null, encodings: Encoding[]): AsyncIterable<Uint8Array> {
  if (body === null) return Readable.from([])
  if (encodings.length === 0) return body
  return encodings.toReversed().reduce<Readable>((source, encoding) => {
    const stream = DECOMPRESSING_STREAMS[encoding]()
    return pipeline(source, stream, () => undefined)
  }, Readable.from(body))
}

type Encoding = keyof typeof DECOMPRESSORS

const DECOMPRESSORS = {
  gzip: promisify(zlib.gunzip),
  'x-gzip': promisify(zlib.gunzip),
  br: promisify(zlib.brotliDecompress),
  zstd: promisify(zlib.zstdDecompress),
  deflate: inflateEither,
} satisfies Record<string, (input: Uint8Array, options: { maxOutputLength: number }) => Promise<unknown>>

const DECOMPRESSING_STREAMS = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress(),
  deflate: () => zlib.createInflate(),
} satisfies Record<Encoding, () => Transform>

function readEncodings(header: string | null): Encoding[] {
  if (header === null) return []
  const names = header
    .toLowerCase()
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '' && name !== 'identity')
  return names.map(name => {
    if (Object.hasOwn(DECOMPRESSORS, name)) return name as Encoding
    throw new GatewayError(
      'unsupported_encoding',
      `The content-encoding '${name.slice(0, 40)}' is not supported; use zstd, gzip, br, deflate or none`,
    )
  })
}

const inflate = promisify(zlib.inflate)
const inflateRaw = promisify(zlib.inflateRaw)

/** `deflate` is zlib by the RFC and raw deflate in the wild. */
async function inflateEither(input: Uint8Array, options: { maxOutputLength: number }): Promise<Buffer> {
  const isZlib = ((input[0] ?? 0) & 0x0f) === 8 && (((input[0] ?? 0) << 8) | (input[1] ?? 0)) % 31 === 0
  return isZlib ? inflate(input, options) : inflateRaw(input, options)
}

async function decompress(bytes: Uint8Array, encoding: Encoding, maxBytes: number): Promise<Uint8Array> {
  if (bytes.length === 0) return bytes
  try {
    return await DECOMPRESSORS[encoding](bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(maxBytes)
    throw new GatewayError('invalid_request', `The body is not valid ${encoding} data`, { cause: error })
  }
}

async function readLimited(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  // A declared length is held to by the server, so the fast native read is as safe as counting.
  if (Number.isFinite(declared)) return new Uint8Array(await request.arrayBuffer())
  if (request.body === null) return new Uint8Array(0)
  return readCounted(request.body, maxBytes)
}

async function readCounted(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let total = 0
  for await (const chunk of body) {
    total += chunk.length
    if (total > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, total)
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is larger than this gateway's limit of ${maxBytes} bytes`,
  )
}
