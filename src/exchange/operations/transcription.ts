import { textTokens, tokensIn, withMargin } from '@/exchange/billing/token-estimate.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { readTranscriptUsage } from '@/formats/openai/audio.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Rates } from '@/generation/rates.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { asString, type JsonObject, parseObject } from '@/json/json.ts'
import type { Route } from '@/routing/model.ts'
import { BytesPipeline, lengthIn } from './bytes-pipeline.ts'
import { EventsPipeline } from './events-pipeline.ts'
import type { Form } from './form.ts'
import type { Operation, OperationPipeline } from './operation.ts'
import { JSON_TYPE, needsOpenai } from './operation-wire.ts'
import { type SoundLength, soundLength } from './sound-length.ts'

/** What a second of sound is in tokens, at the vendors that meter it so; and the most that is said in one. */
const TOKENS_PER_SECOND = 10
const MOST_SAID_PER_SECOND = 10

/** An answer that came whole although events were asked for is read for its usage if it is no longer than this. */
const MAX_WHOLE_BYTES = 4 * 1024 * 1024

/** In the language that is spoken, or in English. */
export type TranscriptionKind = 'transcription' | 'translation'

/**
 * Sound turned into text (`/v1/audio/transcriptions`, `/v1/audio/translations`), in any of the format's shapes. The
 * upstream's count of tokens or seconds is what is charged; where the shape has no place for one, the length of the
 * sound as measured here.
 * @throws GatewayError `invalid_request`
 */
export async function transcriptionOperation(form: Form, kind: TranscriptionKind): Promise<Operation> {
  const model = form.value('model')
  if (model === undefined || model === '') throw invalidRequest('model', 'expected the name of a model')
  const [file] = form.files('file')
  if (file === undefined) throw invalidRequest('file', 'expected a sound file')
  const length = await soundLength(file)
  const promptTokens = textTokens(form.value('prompt'))
  const prepared = (route: Route) => ({
    call: { kind, model: route.upstreamModel, stream: false } as const,
    ...sent(form, route),
    losses: [],
  })
  const common = {
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
    dispose: () => form.close(),
  }
  const estimate = (textBytes: number) => estimated(length, promptTokens, textBytes)
  if (form.value('stream') === 'true') {
    return {
      ...common,
      delivery: 'events',
      stream: true,
      prepare: (route, { requestId, rates }) => ({
        ...prepared(route),
        open: headers => open(headers, requestId, { estimate, rates }),
      }),
    }
  }
  return {
    ...common,
    delivery: 'whole',
    stream: false,
    prepare: (route, { rates }) => ({
      ...prepared(route),
      read: (bytes, headers) => ({
        body: bytes,
        contentType: headers.get('content-type') ?? JSON_TYPE,
        used:
          usedIn(parseObject(new TextDecoder().decode(bytes)), { estimate, rates }) ?? estimate(bytes.length),
      }),
    }),
  }
}

/** The form with the upstream's name of the model, to be answered in whatever shape the form asks for. */
function sent(form: Form, { upstreamModel }: Route) {
  const { body, headers } = form.encode({ model: upstreamModel })
  return { body, headers: { ...headers, accept: '*/*' } }
}

/** What a transcript's use is worked out from beside its answer. */
interface Reckoning {
  /** What a transcript of so many bytes has used, as measured here. */
  estimate: (textBytes: number) => UsedUp
  /** The prices in force; undefined for what is free. */
  rates: Rates | undefined
}

function open(headers: Headers, requestId: string, reckoning: Reckoning): OperationPipeline {
  const { estimate } = reckoning
  const contentType = headers.get('content-type') ?? JSON_TYPE
  // Whisper takes no notice of `stream`.
  if (!contentType.startsWith('text/event-stream')) {
    return new BytesPipeline({
      contentType,
      length: lengthIn(headers),
      keptBytes: MAX_WHOLE_BYTES,
      used: (bytes, kept) => usedIn(parseObject(kept.toString()), reckoning) ?? estimate(bytes),
    })
  }
  return new EventsPipeline({
    last: ['transcript.text.done'],
    reported: data => usedIn(data, reckoning),
    // An event has about as much around its text as the text is long.
    estimated: bytes => estimate(bytes / 2),
    encodeError: error => CODECS[SURFACE_FORMAT.audio].encodeErrorEvent(error, requestId, undefined),
  })
}

/** What an answer reports; what the model's prices go by and the answer does not report is measured here. */
function usedIn(answer: JsonObject | undefined, { estimate, rates }: Reckoning): UsedUp | undefined {
  const usage = answer && readTranscriptUsage(answer)
  if (usage === undefined) return undefined
  const { tokens, seconds } = usage
  const isBySecond = rates?.perAudioSecond !== undefined
  const isByToken = rates !== undefined && Object.keys(rates.tokens).length > 0
  const lacksSeconds = seconds === undefined && isBySecond && !isByToken
  const lacksTokens = tokens === undefined && isByToken && !isBySecond
  const measured = estimate(Buffer.byteLength(asString(answer?.['text']) ?? ''))
  return {
    usage: tokens ?? (lacksTokens ? measured.usage : NO_USAGE),
    extras: lacksSeconds ? measured.extras : seconds === undefined ? undefined : { audioSeconds: seconds },
    source: lacksSeconds || lacksTokens ? 'estimated' : 'reported',
  }
}

function estimated({ seconds }: SoundLength, promptTokens: number, textBytes: number): UsedUp {
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
