import { Readable } from 'node:stream'
import { MOST_SECONDS } from '@/generation/usage.ts'
import type { FormFile } from './form.ts'

/** Of files that nobody can read: the slowest that speech is stored at, and a usual rate, in bytes a second. */
const SLOWEST_BYTES = 1_000
const USUAL_BYTES = 16_000

/** How long a sound is, in whole seconds, the begun one counted. */
export interface SoundLength {
  seconds: number
  /** What it cannot be longer than: `seconds`, unless that is a guess. */
  atMost: number
}

/**
 * How long a sound file is by its own words, which are looked for where they stand first; a file that does not say it
 * is read to its end. Never throws: what no parser here knows may still be known to the upstream.
 */
export async function soundLength(file: FormFile): Promise<SoundLength> {
  const seconds = (await readLength(file, 'head')) ?? (await readLength(file, 'all'))
  if (seconds === undefined) {
    return { seconds: Math.ceil(file.size / USUAL_BYTES), atMost: Math.ceil(file.size / SLOWEST_BYTES) }
  }
  const whole = Math.min(Math.ceil(seconds), MOST_SECONDS)
  return { seconds: whole, atMost: whole }
}

/** @param part how much of the file is read to know */
async function readLength(file: FormFile, part: 'head' | 'all'): Promise<number | undefined> {
  // Few gateways are sent any sound, and each start would pay for it.
  const { parseStream } = await import('music-metadata')
  const bytes = Readable.from(file.read(), { objectMode: false })
  try {
    const { format } = await parseStream(
      bytes,
      { mimeType: file.mediaType, path: file.filename, size: file.size },
      { duration: part === 'all', skipCovers: true },
    )
    const { duration = 0, bitrate = 0 } = format
    if (duration > 0 && Number.isFinite(duration)) return duration
    // Some files say that they end before they begin, or at once: a recorder that streams does not know the length yet.
    return bitrate > 0 ? (file.size * 8) / bitrate : undefined
  } catch {
    return undefined
  } finally {
    bytes.destroy()
  }
}
