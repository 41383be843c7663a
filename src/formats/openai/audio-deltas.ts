import type { Emit } from '@/generation/event.ts'
import { type MediaPart, mediaPart } from '@/generation/part.ts'
import { asNonEmpty, asString, type JsonObject } from '@/json/json.ts'

/** How the bytes of a WAV begin; what comes in a stream has no head. */
const WAV = 'UklGR'
const PCM = 'audio/L16;codec=pcm;rate=24000'

/** Collects a spoken answer: its bytes come in pieces, each encoded on its own, and its words beside them. */
export class AudioDeltas {
  #pieces: string[] = []
  #transcript = ''

  push(audio: JsonObject | undefined, emit: Emit): void {
    const data = asNonEmpty(audio?.['data'])
    if (data !== undefined) this.#pieces.push(data)
    const words = asString(audio?.['transcript']) ?? ''
    if (data === undefined && words === '') return
    this.#transcript += words
    emit({ type: 'withheld', bytes: Buffer.byteLength(words) })
  }

  /** The sound with its words, or the words alone where no sound came. Starts anew. */
  take(emit: Emit): MediaPart | string | undefined {
    const [pieces, transcript] = [this.#pieces, this.#transcript]
    this.#pieces = []
    this.#transcript = ''
    if (pieces.length === 0) {
      if (transcript === '') return undefined
      emit({ type: 'withheld', bytes: -Buffer.byteLength(transcript) })
      return transcript
    }
    const bytes = pieces.map(piece => Buffer.from(piece, 'base64'))
    const data = pieces.length === 1 ? (pieces[0] ?? '') : Buffer.concat(bytes).toString('base64')
    return mediaPart({
      kind: 'audio',
      mediaType: data.startsWith(WAV) ? 'audio/wav' : PCM,
      source: { type: 'base64', data },
      context: transcript === '' ? undefined : transcript,
    })
  }
}
