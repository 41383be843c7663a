import { GatewayError } from '@/errors/gateway-error.ts'
import { HubPipeline } from '@/exchange/relay/hub-pipeline.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import type { DecodeContext, ReplyContext, Target } from '@/formats/codec.ts'
import { inCallersWords, nameLosses } from '@/formats/lowering/caller-words.ts'
import { type LoweredRequest, lowerRequest, type UpstreamHabits } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Format } from '@/generation/format.ts'
import { compose, runMachine } from '@/generation/machine.ts'
import { replay } from '@/generation/replay.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'
import type { Recording } from './recording.ts'

export const REQUEST_ID = '0198c0de-0000-7000-8000-000000000001'

/** Upstreams that do as their format says. */
export const USUAL_HABITS: UpstreamHabits = { functionToolsOnly: false, thinkTags: undefined }

/** The upstream that a request of another format is written for. */
export const TARGETS: Record<Format, Target> = {
  'openai-chat-completions': { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined },
  'openai-responses': { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined },
  'anthropic-messages': { model: 'claude-sonnet-4-5', vendor: 'anthropic', maxOutputTokens: undefined },
  'gemini-generate-content': { model: 'gemini-2.5-flash', vendor: 'google', maxOutputTokens: undefined },
}

export function decodeContext(format: Format, vendor = TARGETS[format].vendor): DecodeContext {
  let made = 0
  return {
    vendor,
    newId: () => {
      made += 1
      return `call_made${made}`
    },
  }
}

/** The model as a caller of this format names it in this body. */
function modelOf(format: Format, body: JsonObject): string {
  return asString(body['model']) ?? TARGETS[format].model
}

/** Recorded requests are read as those of a stream, since each case has one. */
export function decodeRequest(format: Format, body: JsonObject) {
  return CODECS[format].decodeRequest(body, { model: modelOf(format, body), stream: true })
}

/** What is written for a caller who asks to see everything. */
export const FULL_REPLY: ReplyContext = {
  requestId: REQUEST_ID,
  createdAt: 1_763_650_800,
  model: 'm',
  request: { reasoning: { effort: 'low', budgetTokens: undefined, summary: 'auto' } },
  wire: { stream_options: { include_usage: true } },
  estimatedInputTokens: undefined,
}

export function replyContext(format: Format, body: JsonObject): ReplyContext {
  return {
    requestId: REQUEST_ID,
    createdAt: 1_763_650_800,
    model: modelOf(format, body),
    request: decodeRequest(format, body),
    wire: body,
    estimatedInputTokens: undefined,
  }
}

/** What an upstream of format `to` is sent for the recorded request, and what the caller is told was lost. */
interface RequestAs {
  lowered: LoweredRequest
  losses: readonly string[]
}

/** The error is the refusal that the recording's caller would get. */
export function requestAs(recorded: Recording, to: Format): RequestAs | GatewayError {
  try {
    const request = decodeRequest(recorded.format, recorded.request)
    const lowered = inCallersWords(CODECS[recorded.format], recorded.request, () =>
      lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS),
    )
    return { lowered, losses: nameLosses(lowered.losses, CODECS[recorded.format], recorded.request) }
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** The recorded answer for a caller of format `to` whose request was `wire`. */
export function streamAs(
  recorded: Recording,
  to: Format,
  wire: JsonObject,
  chunks: readonly Buffer[],
): string {
  const decoder = CODECS[recorded.format].createStreamDecoder(decodeContext(recorded.format))
  const encoder = CODECS[to].createStreamEncoder(replyContext(to, wire))
  const pipeline = new HubPipeline({
    decoder,
    raiser: createRaiser(recorded.format, to, wire),
    encoder,
    framer: undefined,
    caller: CODECS[to],
    count: () => undefined,
  })
  return run(pipeline, chunks).toString('utf8')
}

/** The recorded answer in one piece for the same caller. */
export function wholeAs(recorded: Recording, to: Format, wire: JsonObject, body: JsonObject): JsonObject {
  const response = CODECS[recorded.format].decodeResponse(body, decodeContext(recorded.format))
  const raiser = createRaiser(recorded.format, to, wire)
  const raised = raiser === undefined ? response : collect(runMachine(raiser, replay(response)))
  return CODECS[to].encodeResponse(raised, replyContext(to, wire))
}

/** What undoes on an answer of this upstream what was done to the caller's request. */
export function createRaiser(upstream: Format, caller: Format, wire: JsonObject) {
  const request = decodeRequest(caller, wire)
  return lowerRequest(request, CODECS[upstream], TARGETS[upstream], USUAL_HABITS).createRaiser?.()
}

/** What a caller of the recording's own format gets. */
export function passThrough(recorded: Recording, chunks: readonly Buffer[]): Buffer {
  const codec = CODECS[recorded.format]
  const pipeline = new PassthroughPipeline({
    codec,
    decoder: codec.createStreamDecoder({ ...decodeContext(recorded.format), isPassed: true }),
    requestId: REQUEST_ID,
    hidesUsage: false,
    readsAll: false,
    chunksOnly: false,
    framer: undefined,
  })
  return run(pipeline, chunks)
}

function run(pipeline: Pipeline, chunks: readonly Buffer[]): Buffer {
  const written: Buffer[] = []
  const emit = (bytes: Uint8Array) => {
    // A copy: what is emitted may be a view of memory that is used again.
    written.push(Buffer.from(bytes))
  }
  for (const chunk of chunks) pipeline.push(chunk, emit)
  pipeline.end(emit)
  return Buffer.concat(written)
}

export function eventsOf(format: Format, chunks: readonly Uint8Array[]): GenerationEvent[] {
  const decoder = CODECS[format].createStreamDecoder(decodeContext(format))
  return runMachine(compose(createSseParser(), decoder), chunks)
}
