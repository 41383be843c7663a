import type { GatewayError } from '@/errors/gateway-error.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import { formatEvent } from '@/sse/event.ts'
import { type BytesOptions, BytesPipeline } from './bytes-pipeline.ts'
import type { OperationPipeline } from './operation.ts'
import { EVENTS_TYPE } from './operation-wire.ts'

/** The event in which a speech ends. */
export const SPEECH_DONE = 'speech.audio.done'

interface SoundAsEventsOptions extends Omit<BytesOptions, 'contentType'> {
  encodeError: (error: GatewayError) => string
}

/** A sound on its way to a caller who asked for events: each read is one. */
export class SoundAsEvents implements OperationPipeline {
  readonly contentType = EVENTS_TYPE
  readonly #options: SoundAsEventsOptions
  readonly #sound: BytesPipeline

  constructor(options: SoundAsEventsOptions) {
    this.#options = options
    this.#sound = new BytesPipeline({ ...options, contentType: this.contentType })
  }

  get meter() {
    return this.#sound.meter
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    this.#sound.push(chunk, bytes => {
      const audio = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
      emit(eventOf({ type: 'speech.audio.delta', audio }))
    })
  }

  end(emit: EmitBytes, broken = false): void {
    this.#sound.end(emit, broken)
    const { error } = this.meter
    if (error === undefined) emit(eventOf({ type: SPEECH_DONE }))
    else this.fail(error, emit)
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.#sound.fail(error)
    emit(Buffer.from(this.#options.encodeError(error)))
  }

  used(): UsedUp | undefined {
    return this.#sound.used()
  }
}

function eventOf(event: { type: string; audio?: string }): Buffer {
  return Buffer.from(formatEvent(undefined, JSON.stringify(event)))
}
