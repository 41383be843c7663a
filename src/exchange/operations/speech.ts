import type { RequestBody } from '@/exchange/admission/body.ts'
import { webPage } from '@/exchange/attempt/answer-body.ts'
import { formOf } from '@/exchange/attempt/answer-form.ts'
import { textTokens, withMargin } from '@/exchange/billing/token-estimate.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { brokenAnswer, complaintIn } from '@/formats/faults/fault.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { readSpeechUsage } from '@/formats/openai/audio.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { parseObject } from '@/json/json.ts'
import { BytesPipeline, lengthIn } from './bytes-pipeline.ts'
import { EventsPipeline } from './events-pipeline.ts'
import type { OperationPipeline, PrepareContext, StreamedOperation } from './operation.ts'
import { needsOpenai, renameModel } from './operation-wire.ts'
import { SoundAsEvents, SPEECH_DONE } from './sound-as-events.ts'
import { WholePipeline } from './whole-pipeline.ts'

/** Spoken text comes to about so many characters in a second; the slowest voice to about half. */
const CHARACTERS_PER_SECOND = 15
const SLOWEST = 8
/** What a second of sound is in tokens, at the vendors that meter speech so. */
const TOKENS_PER_SECOND = 21

/**
 * Text spoken by a model (`/v1/audio/speech`): the sound itself, or an event stream of it. Characters are counted
 * here; tokens are what the upstream reports, which it does in its event stream only, else an estimate.
 * @throws GatewayError `invalid_request`
 */
export function speechOperation(body: RequestBody, model: string): StreamedOperation {
  const text = body.json['input']
  if (typeof text !== 'string') throw invalidRequest('input', 'expected the text that is to be spoken')
  const isEvents = body.json['stream_format'] === 'sse'
  const spoken = estimate(text)
  const { characters } = spoken.extras
  const audioSeconds = Math.ceil(characters / SLOWEST)
  return {
    model,
    format: SURFACE_FORMAT.audio,
    delivery: isEvents ? 'events' : 'bytes',
    price: {
      work: 'speech',
      ceiling: {
        inputTokens: withMargin(spoken.usage.inputUncached),
        outputTokens: audioSeconds * TOKENS_PER_SECOND,
        characters,
        audioSeconds,
      },
    },
    objection: needsOpenai(model),
    prepare: (route, context) => ({
      call: { kind: 'speech', model: route.upstreamModel, stream: isEvents },
      body: renameModel(body, route),
      headers: { accept: '*/*' },
      losses: [],
      open: headers => open(headers, spoken, isEvents, context),
    }),
  }
}

function open(
  headers: Headers,
  spoken: UsedUp,
  isEvents: boolean,
  { encodeError }: PrepareContext,
): OperationPipeline {
  const contentType = headers.get('content-type') ?? 'application/octet-stream'
  const isWords = NO_SOUND.test(contentType)
  if (!isEvents && isWords) {
    return new WholePipeline({
      contentType,
      read: bytes => ({ told: soundIn(bytes), used: spoken }),
      // Between the bytes of a sound an error has no place.
      encodeError: () => '',
    })
  }
  if (!isEvents) return new BytesPipeline({ contentType, length: lengthIn(headers), used: spoken })
  // Many servers take no notice of `stream_format`; a keepalive may have told the caller by then that events come.
  if (!isWords) return new SoundAsEvents({ length: lengthIn(headers), used: spoken, encodeError })
  return new EventsPipeline({
    last: [SPEECH_DONE],
    reported: data => {
      const usage = readSpeechUsage(data)
      return usage && { ...spoken, usage, source: 'reported' }
    },
    estimated: () => spoken,
    encodeError,
  })
}

/** Events, an error inside a 200, or a web page. Sound has as many names as it has servers, or none. */
const NO_SOUND = /^text\/|json/i

/**
 * Sound that its server calls words, or JSON that holds it.
 * @throws GatewayError for what is none: an error inside a 200, a web page, nothing
 */
function soundIn(bytes: Uint8Array): Uint8Array {
  const form = formOf(bytes)
  if (form === 'page') throw webPage()
  const json = form === 'json' ? parseObject(new TextDecoder().decode(bytes)) : undefined
  const complaint = json && complaintIn(json)
  if (complaint !== undefined) throw complaint
  if (form === undefined) throw brokenAnswer('The upstream answered without a sound')
  return bytes
}

/** The vendor speaks the whole text, however much of it the caller heard. */
function estimate(text: string): UsedUp & { extras: { characters: number } } {
  const characters = charactersIn(text)
  const audioSeconds = Math.ceil(characters / CHARACTERS_PER_SECOND)
  return {
    usage: {
      ...NO_USAGE,
      inputUncached: textTokens(text),
      audioOutput: audioSeconds * TOKENS_PER_SECOND,
    },
    extras: { characters, audioSeconds },
    source: 'estimated',
  }
}

/** Counted where they stand: a list of those of a long text would take many times its memory. */
function charactersIn(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
