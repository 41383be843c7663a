import type { GatewayError } from '@/errors/gateway-error.ts'
import { outlineOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { AnswerBytes, webPage } from '@/exchange/attempt/answer-body.ts'
import { formOf, withoutBom } from '@/exchange/attempt/answer-form.ts'
import type { Preparation } from '@/exchange/attempt/preparation.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/answer/json-array.ts'
import type { Ending } from '@/formats/plain/plain-text.ts'
import { asArray, isJsonObject } from '@/json/json.ts'
import { type Count, HubPipeline } from './hub-pipeline.ts'
import { PassthroughPipeline } from './passthrough-pipeline.ts'
import type { EmitBytes, Pipeline } from './pipeline.ts'
import { eventsOfArray, eventsOfWhole, parseAnswer } from './whole-answer.ts'

/** The pipeline of a streamed answer: of events, or of one JSON body from an upstream that would not stream. */
export class AnswerPipeline implements Pipeline {
  /** What the pipeline is made of, until there is one. */
  #source: Source | undefined
  #chosen: Pipeline | undefined
  /** Of an answer that has not begun. */
  #noAnswer: Meter | undefined

  constructor(prompt: Prompt, preparation: Preparation, count: Count) {
    this.#source = { prompt, preparation, count }
  }

  get chosen(): Pipeline | undefined {
    return this.#chosen
  }

  get meter(): Meter {
    if (this.#chosen !== undefined) return this.#chosen.meter
    this.#noAnswer ??= new Meter()
    return this.#noAnswer
  }

  get done(): boolean {
    return this.#chosen?.done ?? false
  }

  get ending(): Ending | undefined {
    return this.#chosen?.ending
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    if (this.#chosen === undefined) return this.#begin(chunk, emit)
    this.#chosen.push(chunk, emit)
  }

  end(emit: EmitBytes, broken?: boolean): void {
    this.#chosen ??= this.#choose(streaming)
    this.#chosen.end(emit, broken)
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.#chosen ??= this.#choose(streaming)
    this.#chosen.fail(error, emit)
  }

  #begin(chunk: Uint8Array, emit: EmitBytes): void {
    const form = formOf(chunk)
    if (form === undefined) return
    if (form === 'page') throw webPage()
    this.#chosen = this.#choose(form === 'json' ? whole : streaming)
    this.#chosen.push(withoutBom(chunk), emit)
  }

  #choose(make: (source: Source) => Pipeline): Pipeline {
    const source = this.#source
    if (source === undefined) throw new Error('an answer has one pipeline')
    this.#source = undefined
    return make(source)
  }
}

interface Source {
  prompt: Prompt
  preparation: Preparation
  count: Count
}

function streaming(source: Source): Pipeline {
  const { prompt, preparation } = source
  if (preparation.conversion !== undefined) return hub(source)
  const { codec, decodeContext, requestId } = preparation
  return new PassthroughPipeline({
    codec,
    decoder: codec.createStreamDecoder({ ...decodeContext, isPassed: true }),
    requestId,
    ...codec.passthrough.listening(outlineOf(prompt.body)),
    framer: prompt.framing === 'json-array' ? createArrayFramer() : undefined,
  })
}

function whole(source: Source): Pipeline {
  return new WholePipeline(hub(source), source.preparation)
}

function hub({ prompt, preparation, count }: Source): HubPipeline {
  const { codec, decodeContext, conversion, reply } = preparation
  const caller = conversion?.caller ?? codec
  return new HubPipeline({
    decoder: codec.createStreamDecoder(decodeContext),
    raiser: conversion?.createRaiser?.(),
    encoder: caller.createStreamEncoder(reply()),
    caller,
    count,
    framer: prompt.framing === 'json-array' ? createArrayFramer() : undefined,
  })
}

/** An upstream that answered whole although a stream was asked for: the answer is told as events at its end. */
class WholePipeline implements Pipeline {
  readonly #hub: HubPipeline
  readonly #preparation: Preparation
  readonly #answer = new AnswerBytes()

  constructor(hub: HubPipeline, preparation: Preparation) {
    this.#hub = hub
    this.#preparation = preparation
  }

  get meter(): Meter {
    return this.#hub.meter
  }

  push(chunk: Uint8Array): void {
    this.#answer.add(chunk)
  }

  end(emit: EmitBytes): void {
    const text = new TextDecoder().decode(this.#answer.whole())
    const answer = parseAnswer(text)
    if (isJsonObject(answer)) {
      const events = eventsOfWhole(answer, text, this.#preparation)
      return this.#hub.endWith(events, this.#preparation.codec.servedTier(answer), emit)
    }
    // What is no JSON has no events: the hub then finds that the answer has no end, which is the truth.
    for (const event of eventsOfArray(asArray(answer), text, this.#preparation)) this.#hub.pushEvent(event)
    this.#hub.end(emit)
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.#hub.fail(error, emit)
  }
}
