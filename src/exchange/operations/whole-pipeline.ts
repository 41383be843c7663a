import { asGatewayError, type GatewayError } from '@/errors/gateway-error.ts'
import { AnswerBytes, brokenOff } from '@/exchange/attempt/answer-body.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import type { OperationPipeline } from './operation.ts'

/** How a whole answer is told. */
interface WholeOptions {
  /** Of what the caller gets. */
  contentType: string
  /**
   * Reads the whole answer and tells it in the caller's shape.
   * @throws GatewayError for what is no answer
   */
  read: (bytes: Uint8Array) => { told: Uint8Array | string; used: UsedUp }
  encodeError: (error: GatewayError) => string
}

/** An answer that is read in one piece where one was asked for that flows: the caller gets all of it at its end. */
export class WholePipeline implements OperationPipeline {
  readonly meter = new Meter()
  readonly contentType: string
  readonly #options: WholeOptions
  readonly #answer = new AnswerBytes()
  #used: UsedUp | undefined

  constructor(options: WholeOptions) {
    this.#options = options
    this.contentType = options.contentType
  }

  push(chunk: Uint8Array): void {
    this.#answer.add(chunk)
  }

  end(emit: EmitBytes, broken = false): void {
    try {
      if (broken) throw brokenOff()
      const { told, used } = this.#options.read(this.#answer.whole())
      this.#used = used
      this.meter.output = true
      this.meter.finished = true
      emit(Buffer.from(told))
    } catch (error) {
      this.fail(asGatewayError(error), emit)
    }
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.meter.error = error
    emit(Buffer.from(this.#options.encodeError(error)))
  }

  used(): UsedUp | undefined {
    return this.#used
  }
}
