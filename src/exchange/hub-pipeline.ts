import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Raiser } from '@/formats/lowering.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import { Meter } from './meter.ts'
import type { Emit, Pipeline } from './pipeline.ts'

export interface HubMachines {
  decoder: StreamMachine<SseEvent, GenerationEvent>
  /** Undoes on the answer what was done to the request. */
  raiser: Raiser | undefined
  encoder: StreamMachine<GenerationEvent, string>
  /** Turns events into another framing of the same format (Gemini's JSON array). */
  framer: StreamMachine<string, string> | undefined
}

const utf8 = new TextEncoder()

/** The way of a converted stream: bytes, events, the neutral model, the caller's text; one output per read. */
export class HubPipeline implements Pipeline {
  readonly meter = new Meter()
  readonly #parser = createSseParser()
  readonly #decoder: StreamMachine<SseEvent, GenerationEvent>
  readonly #raiser: Raiser | undefined
  readonly #writer: StreamMachine<GenerationEvent, string>
  #text = ''

  constructor(machines: HubMachines) {
    this.#decoder = machines.decoder
    this.#raiser = machines.raiser
    this.#writer =
      machines.framer === undefined ? machines.encoder : compose(machines.encoder, machines.framer)
  }

  get done(): boolean {
    return this.#raiser?.done ?? false
  }

  push(chunk: Uint8Array, emit: Emit): void {
    this.#parser.push(chunk, this.#onEvent)
    this.#flush(emit)
  }

  /** For an answer whose events are known without a parser. */
  pushEvent(event: SseEvent): void {
    this.#onEvent(event)
  }

  end(emit: Emit): void {
    this.#parser.end(this.#onEvent)
    const failed = this.meter.error !== undefined
    this.#decoder.end(this.#onDecoded)
    this.meter.cut = !failed && this.meter.error !== undefined
    this.#endAnswer(emit)
  }

  /** For an answer that came whole: all of its events, without bytes to read them from. */
  endWith(events: Iterable<GenerationEvent>, emit: Emit): void {
    for (const event of events) this.#onDecoded(event)
    this.#endAnswer(emit)
  }

  fail(error: GatewayError, emit: Emit): void {
    this.#onRaised({ type: 'error', error })
    this.#writer.end(this.#onText)
    this.#flush(emit)
  }

  #endAnswer(emit: Emit): void {
    this.#raiser?.end(this.#onRaised)
    this.#writer.end(this.#onText)
    this.#flush(emit)
  }

  readonly #onEvent = (event: SseEvent): void => {
    if (this.meter.error === undefined) this.#decoder.push(event, this.#onDecoded)
  }

  readonly #onDecoded = (event: GenerationEvent): void => {
    if (this.#raiser === undefined) this.#onRaised(event)
    else this.#raiser.push(event, this.#onRaised)
  }

  readonly #onRaised = (event: GenerationEvent): void => {
    if (this.meter.error !== undefined) return
    this.meter.observe(event)
    this.#writer.push(event, this.#onText)
  }

  readonly #onText = (text: string): void => {
    this.#text += text
  }

  #flush(emit: Emit): void {
    if (this.#text === '') return
    emit(utf8.encode(this.#text))
    this.#text = ''
  }
}
