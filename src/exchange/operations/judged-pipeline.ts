import type { GatewayError } from '@/errors/gateway-error.ts'
import { AnswerBytes, webPage } from '@/exchange/attempt/answer-body.ts'
import { formOf } from '@/exchange/attempt/answer-form.ts'
import type { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import type { Ending } from '@/formats/plain/plain-text.ts'
import type { OperationPipeline } from './operation.ts'

/** What an answer that is to flow may be instead, by its first bytes. */
interface Judged {
  flowing: OperationPipeline
  /** For JSON: an answer that came whole, or an error. */
  whole: OperationPipeline
}

/** An answer whose first bytes say whether it flows, is JSON, or a web page, which is an error. */
export class JudgedPipeline implements OperationPipeline {
  readonly #whole: OperationPipeline
  /** The one that flows until another is chosen. */
  #pipeline: OperationPipeline
  /** The blanks that came before the first byte that tells; undefined once it has come. */
  #blanks: AnswerBytes | undefined = new AnswerBytes()

  constructor({ flowing, whole }: Judged) {
    this.#whole = whole
    this.#pipeline = flowing
  }

  get contentType(): string {
    return this.#pipeline.contentType
  }

  get meter(): Meter {
    return this.#pipeline.meter
  }

  get ending(): Ending | undefined {
    return this.#pipeline.ending
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    if (this.#blanks === undefined) return this.#pipeline.push(chunk, emit)
    this.#blanks.add(chunk)
    const form = formOf(chunk)
    if (form === undefined) return
    if (form === 'page') throw webPage()
    const beginning = this.#blanks.whole()
    this.#blanks = undefined
    if (form === 'json') this.#pipeline = this.#whole
    this.#pipeline.push(beginning, emit)
  }

  end(emit: EmitBytes, broken?: boolean): void {
    this.#pipeline.end(emit, broken)
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.#pipeline.fail(error, emit)
  }

  used(): UsedUp | undefined {
    return this.#pipeline.used()
  }
}
