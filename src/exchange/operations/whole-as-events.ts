import { asGatewayError, type GatewayError } from '@/errors/gateway-error.ts'
import { AnswerBytes, brokenOff } from '@/exchange/attempt/answer-body.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import type { OperationPipeline } from './operation.ts'

/** How a whole answer is told as events. */
interface WholeAsEventsOptions {
  /**
   * Reads the whole answer and tells it as events.
   * @throws GatewayError for what is no answer
   */
  read: (bytes: Uint8Array) => { events: string; used: UsedUp }
  encodeError: (error: GatewayError) => string
}

/** An upstream that answers in one piece, for a caller who asked for a stream: all events come at its end. */
export class WholeAsEvents implements OperationPipeline {
  readonly meter = new Meter()
  readonly contentType = 'text/event-stream; charset=utf-8'
  readonly #options: WholeAsEventsOptions
  readonly #answer = new AnswerBytes()
  #used: UsedUp | undefined

  constructor(options: WholeAsEventsOptions) {
    this.#options = options
  }

  push(chunk: Uint8Array): void {
    this.#answer.add(chunk)
  }

  end(emit: EmitBytes, broken = false): void {
    try {
      if (broken) throw brokenOff()
      const { events, used } = this.#options.read(this.#answer.whole())
      this.#used = used
      this.meter.output = true
      this.meter.finished = true
      emit(Buffer.from(events))
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
