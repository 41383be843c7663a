import { brokenOff, webPage } from '@/exchange/attempt/answer-body.ts'
import { formOf } from '@/exchange/attempt/answer-form.ts'
import { faultInBody, judgeEarly } from '@/exchange/attempt/attempt.ts'
import { textTokens, tokensIn, withMargin } from '@/exchange/billing/token-estimate.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { isEventStream } from '@/exchange/relay/reply.ts'
import { brokenAnswer, complaintIn } from '@/formats/faults/fault.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { readTranscriptUsage } from '@/formats/openai/audio.ts'
import { runMachine } from '@/generation/machine.ts'
import type { Rates } from '@/generation/rates.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { asString, isJsonObject, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'
import type { Route } from '@/routing/model.ts'
import { formatEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import { EventsPipeline } from './events-pipeline.ts'
import { asksForStream, type Form, fieldsOf } from './form.ts'
import { JudgedPipeline } from './judged-pipeline.ts'
import type { Operation, OperationPipeline, PrepareContext } from './operation.ts'
import { EVENTS_TYPE, JSON_TYPE, needsOpenai } from './operation-wire.ts'
import { type SoundLength, soundLength } from './sound-length.ts'
import { WholePipeline } from './whole-pipeline.ts'

/** What a second of sound is in tokens, at the vendors that meter it so; and the most that is said in one. */
const TOKENS_PER_SECOND = 10
const MOST_SAID_PER_SECOND = 10

/** In the language that is spoken, or in English. */
export type TranscriptionKind = 'transcription' | 'translation'

/**
 * Sound turned into text (`/v1/audio/transcriptions`, `/v1/audio/translations`), in any of the format's shapes. The
 * upstream's count of tokens or seconds is what is charged; where the shape has no place for one, the length of the
 * sound as measured here.
 * @throws GatewayError `invalid_request`
 */
export async function transcriptionOperation(
  form: Form,
  kind: TranscriptionKind,
  model: string,
): Promise<Operation> {
  const [file, ...others] = form.files('file')
  if (file === undefined || others.length > 0) throw invalidRequest('file', 'expected one sound file')
  const fields = fieldsOf(form)
  const isStreamed = asksForStream(fields)
  const length = await soundLength(file)
  const asked = {
    form,
    kind,
    model,
    length,
    promptTokens: textTokens(fields['prompt']),
    isText: TEXT_SHAPES.has(asString(fields['response_format']) ?? ''),
  }
  return isStreamed ? streamed(asked) : whole(asked)
}

/** A transcription as its caller asked for it. */
interface TranscriptionAsked {
  form: Form
  kind: TranscriptionKind
  model: string
  length: SoundLength
  /** Of the text that is to guide it. */
  promptTokens: number
  /** Whether the shape is no JSON: an empty answer is what was said in silence. */
  isText: boolean
}

const TEXT_SHAPES = new Set(['text', 'srt', 'vtt'])

function streamed(asked: TranscriptionAsked): Operation {
  return {
    ...common(asked),
    delivery: 'events',
    prepare: (route, { price, encodeError }) => ({
      ...sent(asked, route),
      open: headers => open(headers, { asked, rates: price?.rates }, encodeError),
    }),
  }
}

function whole(asked: TranscriptionAsked): Operation {
  return {
    ...common(asked),
    delivery: 'whole',
    prepare: (route, { price }) => ({
      ...sent(asked, route),
      read: (bytes, headers) => ({
        body: bytes,
        contentType: headers.get('content-type') ?? JSON_TYPE,
        used: readWhole(bytes, headers, { asked, rates: price?.rates }).used,
      }),
    }),
  }
}

/** What is the same for both. */
function common({ model, length, promptTokens }: TranscriptionAsked) {
  return {
    model,
    format: SURFACE_FORMAT.audio,
    price: {
      work: 'transcription' as const,
      ceiling: {
        inputTokens: withMargin(promptTokens + length.atMost * TOKENS_PER_SECOND),
        outputTokens: withMargin(length.atMost * MOST_SAID_PER_SECOND),
        audioSeconds: length.atMost,
      },
    },
    objection: needsOpenai(model),
  }
}

/** The form with the upstream's name of the model, to be answered in whatever shape the form asks for. */
function sent({ form, kind }: TranscriptionAsked, { upstreamModel }: Route) {
  const { body, headers } = form.encode({ model: upstreamModel })
  return {
    call: { kind, model: upstreamModel, stream: false } as const,
    body,
    headers: { ...headers, accept: '*/*' },
    losses: [],
  }
}

/** What tells the usage of a transcript where its answer does not. */
interface UsageBasis {
  asked: TranscriptionAsked
  /** The prices in force; undefined for what is free. */
  rates: Rates | undefined
}

function open(
  headers: Headers,
  basis: UsageBasis,
  encodeError: PrepareContext['encodeError'],
): OperationPipeline {
  // Whisper takes no notice of `stream`; a keepalive may have told the caller by then that events come.
  const whole = new WholePipeline({
    contentType: EVENTS_TYPE,
    encodeError,
    read: bytes => readEvents(bytes, basis) ?? asEvent(readWhole(bytes, headers, basis)),
  })
  if (!isEventStream(headers.get('content-type'))) return whole
  const flowing = new EventsPipeline({
    last: LAST_EVENTS,
    reported: data => usedIn(data, basis),
    // An event has about as much around its text as the text is long.
    estimated: bytes => estimated(basis.asked, bytes / 2),
    encodeError,
  })
  return new JudgedPipeline({ flowing, whole })
}

const LAST_EVENT = 'transcript.text.done'

/** With which a stream of OpenAI's ends, and one of Mistral's. */
const LAST_EVENTS = [LAST_EVENT, 'transcription.done']

/** An answer that came whole. */
interface WholeTranscript {
  text: string
  /** Undefined in a shape that is no JSON. */
  answer: JsonObject | undefined
  used: UsedUp
}

/** @throws GatewayError for an error inside a 200, a web page, and nothing */
function readWhole(bytes: Uint8Array, headers: Headers, basis: UsageBasis): WholeTranscript {
  const form = formOf(bytes)
  // What is said may begin with a `<`, and some call all text HTML.
  if (form === 'page' && /html|json/i.test(headers.get('content-type') ?? '')) throw webPage()
  const text = new TextDecoder().decode(bytes)
  const answer = parseObject(text)
  const isEmpty = answer === undefined ? form === undefined && !basis.asked.isText : isEmptyObject(answer)
  if (isEmpty) throw brokenAnswer('The upstream answered without a transcript')
  const complaint = answer === undefined || isTranscript(answer) ? undefined : complaintIn(answer)
  if (complaint !== undefined) throw judgeEarly(complaint)
  return { text, answer, used: usedIn(answer, basis) ?? estimated(basis.asked, bytes.length) }
}

/** Some have an empty `error` beside the text, which is empty where nothing was said. */
function isTranscript({ text, error }: JsonObject): boolean {
  if (typeof text !== 'string') return false
  return text !== '' || !error || isEmptyObject(error)
}

function isEmptyObject(value: JsonValue): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0
}

/** Events, whatever the upstream calls them. */
const NAMED_OTHERWISE = /^\s*(?:event:.*\r?\n)?data: ?[{[]/

/**
 * Events under another type than theirs; undefined for anything else.
 * @throws GatewayError for an error among them, or if the last one is missing
 */
function readEvents(bytes: Uint8Array, basis: UsageBasis): { told: string; used: UsedUp } | undefined {
  const events = new TextDecoder().decode(bytes)
  if (!NAMED_OTHERWISE.test(events)) return undefined
  let used = estimated(basis.asked, bytes.length / 2)
  let isWhole = false
  for (const { data } of runMachine(createSseParser(), [bytes])) {
    const event = parseObject(data)
    const fault = event && faultInBody(event, () => data)
    if (fault !== undefined) throw fault
    if (event === undefined || !LAST_EVENTS.some(type => event['type'] === type)) continue
    isWhole = true
    used = usedIn(event, basis) ?? used
  }
  if (!isWhole) throw brokenOff()
  return { told: events, used }
}

/** The same as the one event of a stream. */
function asEvent({ text, answer, used }: WholeTranscript): { told: string; used: UsedUp } {
  // Beside the text what the shape that was asked for has: segments, words, the language. Clients take `error` for one.
  const { error: _, ...beside } = answer ?? {}
  const event = { ...beside, type: LAST_EVENT, text: asString(answer?.['text']) ?? text }
  return { told: formatEvent(undefined, JSON.stringify(event)), used }
}

/** What an answer reports; what the model's prices go by and the answer does not report is measured here. */
function usedIn(answer: JsonObject | undefined, { asked, rates }: UsageBasis): UsedUp | undefined {
  const usage = answer && readTranscriptUsage(answer)
  if (usage === undefined) return undefined
  const { tokens, seconds } = usage
  const isBySecond = rates?.perAudioSecond !== undefined
  const isByToken = rates !== undefined && Object.keys(rates.tokens).length > 0
  const lacksSeconds = seconds === undefined && isBySecond && !isByToken
  const lacksTokens = tokens === undefined && isByToken && !isBySecond
  const measured = estimated(asked, Buffer.byteLength(asString(answer?.['text']) ?? ''))
  return {
    usage: tokens ?? (lacksTokens ? measured.usage : NO_USAGE),
    extras: lacksSeconds ? measured.extras : seconds === undefined ? undefined : { audioSeconds: seconds },
    source: lacksSeconds || lacksTokens ? 'estimated' : 'reported',
  }
}

/** What a transcript of so many bytes has used, as far as it can be told from the sound. */
function estimated({ length: { seconds }, promptTokens }: TranscriptionAsked, textBytes: number): UsedUp {
  return {
    usage: {
      ...NO_USAGE,
      inputUncached: promptTokens,
      audioInput: seconds * TOKENS_PER_SECOND,
      outputText: tokensIn(textBytes),
    },
    extras: { audioSeconds: seconds },
    source: 'estimated',
  }
}
