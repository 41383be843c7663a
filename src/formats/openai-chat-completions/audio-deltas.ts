import type { MediaPart } from '@/generation/part.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import { mediaPart } from './media-decode.ts'

/** Collects a spoken answer: its bytes come in pieces, each encoded on its own, and its words beside them. */
export class AudioDeltas {
  #pieces: string[] = []
  #transcript = ''

  push(audio: JsonObject | undefined): void {
    const data = asString(audio?.['data'])
    if (data !== undefined && data !== '') this.#pieces.push(data)
    this.#transcript += asString(audio?.['transcript']) ?? ''
  }

  take(): MediaPart | undefined {
    if (this.#pieces.length === 0) return undefined
    const bytes = this.#pieces.map(piece => Buffer.from(piece, 'base64'))
    const data = this.#pieces.length === 1 ? (this.#pieces[0] ?? '') : Buffer.concat(bytes).toString('base64')
    this.#pieces = []
    return {
      ...mediaPart('audio'),
      source: { type: 'base64', data },
      context: this.#transcript === '' ? undefined : this.#transcript,
    }
  }
}
