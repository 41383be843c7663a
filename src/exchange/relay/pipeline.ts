import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Meter } from '@/exchange/billing/meter.ts'
import type { Ending } from '@/formats/plain/plain-text.ts'

/**
 * The machines between an upstream's bytes and the caller's, as one. When `meter.error` is set, the error stands in
 * the output already, in the caller's own grammar, and nothing more is written.
 */
export interface Pipeline {
  push(chunk: Uint8Array, emit: EmitBytes): void
  /**
   * The upstream closed: finishes what is finished, else reports that the answer was cut. `broken`: the connection
   * did, which formats with an end of their own need not know.
   */
  end(emit: EmitBytes, broken?: boolean): void
  /** Ends the answer in an error of ours. */
  fail(error: GatewayError, emit: EmitBytes): void
  readonly meter: Meter
  /** True when nothing of what the upstream may still send is wanted; left out: it never is. */
  readonly done?: boolean
  /** See StreamDecoder. */
  readonly ending?: Ending | undefined
  /** The pipeline that does the work of one that chooses: once there was output, all may go straight there. */
  readonly chosen?: Pipeline | undefined
}

/** Takes bytes for the caller. */
export type EmitBytes = (bytes: Uint8Array) => void
