import { GatewayError } from '@/errors/gateway-error.ts'
import { faultInBody } from '@/exchange/attempt/attempt.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import type { Ending } from '@/formats/plain/plain-text.ts'
import { runMachine } from '@/generation/machine.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'
import { EventSplitter, eachEvent, MAX_EVENT_BYTES } from '@/sse/splitter.ts'
import type { OperationPipeline } from './operation.ts'
import { EVENTS_TYPE } from './operation-wire.ts'

/** How a stream of an operation's events tells what it used. */
interface EventsOptions {
  /** The `type` of the events with which an answer ends, or one of its pieces; each is read, the others pass unread. */
  last: readonly string[]
  /** How many of those were asked for, if more than one: with fewer the answer is complete if it ends by itself or no more comes. */
  count?: number
  /** What one of those says was used; undefined: it does not say. */
  reported: (data: JsonObject) => UsedUp | undefined
  /** What an answer of which so many bytes came has used, as far as we can tell. */
  estimated: (bytes: number) => UsedUp
  /** Adds up what several last events report. */
  sum?: (one: UsedUp, other: UsedUp) => UsedUp
  encodeError: (error: GatewayError) => string
}

/**
 * An operation's event stream on its way, in the format of its caller: whole events at a time, of which only the last
 * and errors are read.
 */
export class EventsPipeline implements OperationPipeline {
  readonly meter = new Meter()
  readonly contentType = EVENTS_TYPE
  readonly #options: EventsOptions
  readonly #splitter = new EventSplitter(MAX_EVENT_BYTES)
  #bytes = 0
  #reported: UsedUp | undefined

  constructor(options: EventsOptions) {
    this.#options = options
  }

  /** Fewer than were asked for are all if no more of one comes. */
  get ending(): Ending | undefined {
    return this.meter.endings > 0 ? 'some' : undefined
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    this.#splitter.push(chunk, run => this.#pass(run, emit))
  }

  end(emit: EmitBytes, broken = false): void {
    if (this.meter.error !== undefined) return
    const rest = this.#splitter.rest()
    if (rest.length > 0 && readEvents(rest).length > 0) this.#pass(rest, emit)
    if (this.meter.error !== undefined) return
    if (!broken && this.meter.endings > 0) this.meter.finished = true
    if (this.meter.finished) return
    this.fail(closedEarly(), emit)
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.meter.error = error
    emit(Buffer.from(this.#options.encodeError(error)))
  }

  used(): UsedUp | undefined {
    if (this.#reported !== undefined) return this.#reported
    return this.meter.output ? this.#options.estimated(this.#bytes) : undefined
  }

  #pass(run: Buffer, emit: EmitBytes): void {
    if (this.meter.error !== undefined) return
    if (this.#mayTell(run)) {
      for (const data of readEvents(run)) this.#read(data)
      if (this.meter.error !== undefined) return this.fail(this.meter.error, emit)
    }
    if (run.includes('data:')) {
      this.meter.output = true
      this.meter.addUnread(run.length)
    }
    this.#bytes += run.length
    emit(run)
  }

  #mayTell(run: Buffer): boolean {
    return run.includes('"error"') || this.#options.last.some(type => run.includes(type))
  }

  #read(data: JsonObject): void {
    const fault = faultInBody(data, () => JSON.stringify(data))
    if (fault !== undefined) {
      this.meter.error = fault
      return
    }
    const { last, reported, sum } = this.#options
    if (!last.some(type => data['type'] === type)) return
    const used = reported(data)
    if (used !== undefined) {
      this.#reported = this.#reported === undefined || sum === undefined ? used : sum(this.#reported, used)
    }
    this.meter.endings += 1
    this.meter.finished = this.meter.endings >= (this.#options.count ?? 1)
  }
}

function closedEarly(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream closed its stream before the end of the answer', {
    isCut: true,
    retry: 'next-channel',
  })
}

/** What the whole events of a run hold, if it is JSON. */
function readEvents(run: Buffer): JsonObject[] {
  const found: JsonObject[] = []
  eachEvent(run, event => {
    for (const { data } of runMachine(createSseParser(), [event])) {
      const json = parseObject(data)
      if (json !== undefined) found.push(json)
    }
  })
  return found
}
