import type { RequestBody } from '@/exchange/admission/body.ts'
import { textTokens, withMargin } from '@/exchange/billing/token-estimate.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { complaintIn } from '@/formats/faults/fault.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { readSpeechUsage } from '@/formats/openai/audio.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'
import { BytesPipeline, lengthIn } from './bytes-pipeline.ts'
import { EventsPipeline } from './events-pipeline.ts'
import { JudgedPipeline } from './judged-pipeline.ts'
import type { OperationPipeline, PrepareContext, StreamedOperation } from './operation.ts'
import { EVENTS_TYPE, needsOpenai, noAnswer, readJsonAnswer, renameModel } from './operation-wire.ts'
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
  const isWords = WORDS.test(contentType)
  const sound = { contentType, length: lengthIn(headers), used: spoken, missing: NO_SOUND }
  if (!isEvents) {
    const flowing = new BytesPipeline(sound)
    return isWords ? new JudgedPipeline({ flowing, whole: soundInJson(contentType, spoken) }) : flowing
  }
  // Many servers take no notice of `stream_format`; a keepalive may have told the caller by then that events come.
  if (!isWords) return new SoundAsEvents({ ...sound, encodeError })
  return new JudgedPipeline({
    flowing: new EventsPipeline({
      last: [SPEECH_DONE],
      reported: data => {
        const usage = readSpeechUsage(data)
        return usage && { ...spoken, usage, source: 'reported' }
      },
      estimated: () => spoken,
      encodeError,
    }),
    whole: new WholePipeline({
      contentType: EVENTS_TYPE,
      read: bytes => {
        throw noAnswer(readJsonAnswer(bytes), NO_SOUND)
      },
      encodeError,
    }),
  })
}

/** What may be events, an error inside a 200, or a web page. Sound has as many names as it has servers, or none. */
const WORDS = /^text\/|json/i

/** What is wrong with an answer that holds no sound. */
const NO_SOUND = 'The upstream answered without a sound'

/** A sound inside JSON, handed on as it came. */
function soundInJson(contentType: string, used: UsedUp): WholePipeline {
  return new WholePipeline({
    contentType,
    read: told => {
      const json = parseObject(new TextDecoder().decode(told))
      if (json !== undefined && !holdsSound(json)) throw noAnswer(json, NO_SOUND)
      return { told, used }
    },
    // Between the bytes of a sound an error has no place.
    encodeError: () => '',
  })
}

/** Whether there is something else than an error. Beside a sound some say that all went well, in the words of a complaint. */
function holdsSound(json: JsonObject): boolean {
  if (isJsonObject(json['error']) && Object.keys(json['error']).length > 0) return false
  if (SOUND_NAMES.some(name => holdsText(json[name]))) return true
  return Object.keys(json).length > 0 && complaintIn(json) === undefined
}

/** Where servers that answer in JSON have a sound, or its address. */
const SOUND_NAMES = ['audio', 'audio_url', 'audioContent', 'data', 'output', 'url']

function holdsText(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value !== ''
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsText)
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
