/** A stretch of a body: in memory, or read when its turn comes. */
export type Piece = Uint8Array | StoredPiece

/** Bytes that lie elsewhere; they can be read any number of times, once for each attempt. */
export interface StoredPiece {
  /** In bytes. */
  size: number
  read(): AsyncGenerator<Uint8Array>
}

/** The length of all in bytes. */
export function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + ('size' in piece ? piece.size : piece.length), 0)
}

/** The pieces as one stream, which reads on only when what was read has gone. */
export function streamOf(pieces: readonly Piece[]): ReadableStream<Uint8Array> {
  const bytes = flow(pieces)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await bytes.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await bytes.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}

async function* flow(pieces: readonly Piece[]): AsyncGenerator<Uint8Array, undefined> {
  for (const piece of pieces) {
    if ('size' in piece) yield* piece.read()
    else yield piece
  }
}

/** So many bytes are this long in base64. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3)
}

/** Bytes as the bytes of their base64, a piece at a time. */
export async function* encodeBase64(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array(0)
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    rest = bytes.slice(whole)
    if (whole > 0)
      yield Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, whole).toString('base64'), 'latin1')
  }
  if (rest.length > 0) yield Buffer.from(Buffer.from(rest).toString('base64'), 'latin1')
}
