import type { GatewayError } from '@/errors/gateway-error.ts'
import { brokenOff } from '@/exchange/attempt/answer-body.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import type { OperationPipeline } from './operation.ts'

/** What is known of an answer that is bytes, such as sound. */
interface BytesOptions {
  contentType: string
  /** What the upstream says it will send, in bytes; undefined: it does not say. */
  length: number | undefined
  /** How many of the bytes are kept to be read at the end; none unless said. What is longer is not kept at all. */
  keptBytes?: number
  /** What so many bytes come to. `kept` is all of them once they have come, else empty. */
  used: (bytes: number, kept: Buffer) => UsedUp | undefined
}

/** A sound, an image or a film on its way: bytes that are counted and not looked at. */
export class BytesPipeline implements OperationPipeline {
  readonly meter = new Meter()
  readonly done = false
  readonly contentType: string
  readonly #options: BytesOptions
  #bytes = 0
  #kept: Uint8Array[] = []

  constructor(options: BytesOptions) {
    this.#options = options
    this.contentType = options.contentType
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    if (chunk.length === 0) return
    this.#bytes += chunk.length
    this.meter.output = true
    if (this.#bytes <= (this.#options.keptBytes ?? 0)) this.#kept.push(Uint8Array.from(chunk))
    else this.#kept = []
    emit(chunk)
  }

  end(_emit: EmitBytes, broken = false): void {
    const { length } = this.#options
    if (broken || (length !== undefined && this.#bytes < length)) this.meter.error = brokenOff()
    else this.meter.finished = true
  }

  fail(error: GatewayError): void {
    this.meter.error = error
  }

  used(): UsedUp | undefined {
    if (!this.meter.output) return undefined
    return this.#options.used(this.#bytes, Buffer.concat(this.meter.finished ? this.#kept : []))
  }
}

/** How many bytes are to come; undefined if nobody says. Of what came packed, though nobody asked for that, `content-length` is the pack's. */
export function lengthIn(headers: Headers): number | undefined {
  if (headers.has('content-encoding')) return undefined
  const length = Number(headers.get('content-length') ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : undefined
}
