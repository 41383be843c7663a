import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

/** An encoding of HTTP bodies that can be undone here. */
export type Encoding = keyof typeof DECOMPRESSORS

type Decompressor = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>

const DECOMPRESSORS = {
  gzip: promisify(zlib.gunzip),
  'x-gzip': promisify(zlib.gunzip),
  br: promisify(zlib.brotliDecompress),
  zstd: promisify(zlib.zstdDecompress),
  deflate: inflateEither,
} satisfies Record<string, Decompressor>

/** For bodies that are too large to be kept: streams that decompress what is written to them. */
export const DECOMPRESSING_STREAMS = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress(),
  deflate: () => zlib.createInflate(),
} satisfies Record<Encoding, () => Transform>

/** What a content-encoding header names, the outermost last. */
export function encodingsIn(header: string | null): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '' && name !== 'identity')
}

/** Whether an accept-encoding header takes gzip; with `q=0` it is refused. */
export function takesGzip(header: string | null): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header ?? '')
}

/** Whether a name is that of an encoding that can be undone here. */
export function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(DECOMPRESSORS, name)
}

/**
 * What bytes were before they were encoded; undefined: more than `maxBytes`, of which no more is made than that.
 * @throws what zlib says of bytes that are not so encoded
 */
async function decompress(
  bytes: Uint8Array,
  encoding: Encoding,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (bytes.length === 0) return bytes
  try {
    return await DECOMPRESSORS[encoding](bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

/** What text unpacks to. A few bytes may unpack to as many as there may be. */
const USUAL_RATIO = 8

/**
 * The same, where memory is reckoned: what unpacks to more than there is room for is unpacked anew, in eight times as much.
 * @param onBytes told how many bytes may be made, before they are; what it throws ends that
 */
export async function decompressInSteps(
  bytes: Uint8Array,
  encoding: Encoding,
  maxBytes: number,
  onBytes: (bytes: number) => void,
): Promise<Uint8Array | undefined> {
  let most = bytes.length
  do {
    most = Math.min(most * USUAL_RATIO, maxBytes)
    onBytes(most)
    const plain = await decompress(bytes, encoding, most)
    if (plain !== undefined) return plain
  } while (most < maxBytes)
  return undefined
}

const inflate = promisify(zlib.inflate)
const inflateRaw = promisify(zlib.inflateRaw)

/** `deflate` is zlib by the RFC and raw deflate in the wild. */
async function inflateEither(input: Uint8Array, options: { maxOutputLength: number }): Promise<Buffer> {
  const isZlib = ((input[0] ?? 0) & 0x0f) === 8 && (((input[0] ?? 0) << 8) | (input[1] ?? 0)) % 31 === 0
  return isZlib ? inflate(input, options) : inflateRaw(input, options)
}
