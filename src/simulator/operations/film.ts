/** The bytes of a video, made when they are read. */
export interface Film {
  /** How many. */
  size: number
  /** Those from `from` to before `to`. */
  read(from: number, to: number): Iterator<Uint8Array>
}

/** The first box of an MP4 file: enough for whoever looks at the type. */
const SMALL = Uint8Array.fromBase64('AAAAGGZ0eXBpc29tAAACAGlzb21tcDQx')

/** A film that is no more than its first box. */
export function smallFilm(): Film {
  return { size: SMALL.byteLength, read: (from, to) => [SMALL.subarray(from, to)].values() }
}

const MEBIBYTE = 1024 * 1024
const PIECE = 64 * 1024
/** Each byte is its place modulo 256. */
const PATTERN = Uint8Array.from({ length: PIECE + 256 }, (_, index) => index % 256)

/** A film of so many MiB. */
export function largeFilm(mebibytes: number): Film {
  return {
    size: mebibytes * MEBIBYTE,
    *read(from, to) {
      for (let at = from; at < to; at += PIECE) {
        const start = at % 256
        yield PATTERN.subarray(start, start + Math.min(PIECE, to - at))
      }
    },
  }
}

/** What a Range header asks for: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Undefined: all; null: nothing that is there. */
export function readRange(
  header: string | null,
  size: number,
): { from: number; to: number } | null | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  return from < to ? { from, to } : null
}
