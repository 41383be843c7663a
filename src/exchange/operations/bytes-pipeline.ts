import type { GatewayError } from '@/errors/gateway-error.ts'
import { brokenOff } from '@/exchange/attempt/answer-body.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import { brokenAnswer } from '@/formats/faults/fault.ts'
import type { OperationPipeline } from './operation.ts'

/** What is known of an answer that is bytes, such as sound. */
export interface BytesOptions {
  contentType: string
  /** What the upstream says it will send, in bytes; undefined: it does not say. */
  length: number | undefined
  /** What they come to. */
  used: UsedUp
  /** What is wrong where there are none. */
  missing: string
}

/** A sound, an image or a film on its way: bytes that are counted and not looked at. */
export class BytesPipeline implements OperationPipeline {
  readonly meter = new Meter()
  readonly contentType: string
  readonly #options: BytesOptions
  #bytes = 0

  constructor(options: BytesOptions) {
    this.#options = options
    this.contentType = options.contentType
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    if (chunk.length === 0) return
    this.#bytes += chunk.length
    this.meter.output = true
    emit(chunk)
  }

  end(_emit: EmitBytes, broken = false): void {
    const { length, missing } = this.#options
    const isShort = length !== undefined && this.#bytes < length
    if (!broken && this.#bytes === 0) this.meter.error = brokenAnswer(missing)
    else if (broken || isShort) this.meter.error = brokenOff()
    else this.meter.finished = true
  }

  fail(error: GatewayError): void {
    this.meter.error = error
  }

  used(): UsedUp | undefined {
    return this.meter.output ? this.#options.used : undefined
  }
}

/** How many bytes are to come; undefined if nobody says. Of what came packed, though nobody asked for that, `content-length` is the pack's. */
export function lengthIn(headers: Headers): number | undefined {
  if (headers.has('content-encoding')) return undefined
  const length = Number(headers.get('content-length') ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : undefined
}
