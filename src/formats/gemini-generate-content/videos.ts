import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { standardBase64 } from '@/formats/media/base64.ts'
import type { VideoView } from '@/formats/openai/videos.ts'
import type { VideoFrame, VideoImage, VideoProgress, VideoRequest, VideoTerms } from '@/generation/video.ts'
import {
  asArray,
  asIndex,
  asObject,
  asString,
  asStrings,
  isKeyOf,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'
import { camelKeys, parametersOf, unknownKeys } from './request/keys.ts'

/**
 * Veo: `predictLongRunning`, and the operation that it answers with.
 * https://ai.google.dev/gemini-api/docs/video
 */

/** What a film is that says nothing else. */
const DEFAULT_SECONDS = 8
const DEFAULT_FRAME: VideoFrame = { width: 1280, height: 720 }

const KNOWN_PARTS = new Set(['instances', 'parameters'])
const KNOWN_INSTANCE = new Set(['prompt', 'image', 'video'])
const KNOWN_IMAGE = new Set(['bytesBase64Encoded', 'imageBytes', 'gcsUri', 'uri', 'mimeType'])
const KNOWN_PARAMETERS = new Set([
  'aspectRatio',
  'resolution',
  'durationSeconds',
  'sampleCount',
  'numberOfVideos',
])

const MAX_SAMPLES = 16

/** @throws GatewayError `invalid_request`; `unsupported_parameter` for what only Veo makes */
export function decodeVideoRequest(wire: JsonObject): VideoRequest {
  const { body, instance, parameters } = partsOf(wire)
  const terms = videoTerms(wire)
  assertFrame(parameters)
  if (terms.prompt === '') throw invalidRequest('instances[0].prompt', 'expected a text')
  if (instance['video'] !== undefined)
    throw unsupported('instances[0].video', 'cannot be continued at the upstream that makes this video')
  return {
    terms: { ...terms, samples: 1 },
    image: decodeImage(instance['image']),
    unread: [
      ...(terms.samples > 1 ? ['parameters.sampleCount'] : []),
      ...unknownKeys(body, KNOWN_PARTS),
      ...unknownKeys(instance, KNOWN_INSTANCE, 'instances[0].'),
      ...unknownKeys(asObject(instance['image']), KNOWN_IMAGE, 'instances[0].image.'),
      ...unknownKeys(parameters, KNOWN_PARAMETERS, 'parameters.'),
    ],
  }
}

/**
 * What an order comes to. Length and number must be known, since they are what it costs.
 * @throws GatewayError `invalid_request`
 */
export function videoTerms(wire: JsonObject): VideoTerms {
  const { instance, parameters } = partsOf(wire)
  const seconds = asIndex(parameters['durationSeconds'] ?? DEFAULT_SECONDS)
  if (seconds === undefined || seconds === 0 || seconds >= 100_000)
    throw invalidRequest('parameters.durationSeconds', 'expected a whole number above 0')
  const samples = asIndex(parameters['sampleCount'] ?? parameters['numberOfVideos'] ?? 1)
  if (samples === undefined || samples === 0 || samples > MAX_SAMPLES)
    throw invalidRequest('parameters.sampleCount', `expected a whole number from 1 to ${MAX_SAMPLES}`)
  return { prompt: asString(instance['prompt']) ?? '', seconds, frame: frameOf(parameters), samples }
}

/** Google's SDKs send one instance, and so does its API take. */
function partsOf(wire: JsonObject): { body: JsonObject; instance: JsonObject; parameters: JsonObject } {
  const body = camelKeys(wire)
  const instances = asArray(body['instances'])
  const instance = asObject(instances[0])
  if (instance === undefined || instances.length > 1) throw invalidRequest('instances', 'expected one object')
  return { body, instance, parameters: parametersOf(body) }
}

function decodeImage(value: JsonValue | undefined): VideoImage | undefined {
  if (value === undefined) return undefined
  const image = asObject(value) ?? {}
  const base64 = asString(image['bytesBase64Encoded']) ?? asString(image['imageBytes'])
  const uri = asString(image['gcsUri']) ?? asString(image['uri'])
  const mediaType = image['mimeType'] ?? 'image/png'
  if (typeof mediaType !== 'string') throw invalidRequest('instances[0].image.mimeType', 'expected a text')
  if (base64 !== undefined) return { mediaType, base64: standardBase64(base64) }
  if (uri !== undefined) return { url: uri }
  throw invalidRequest('instances[0].image', 'expected bytesBase64Encoded and mimeType')
}

/** The shorter side of each of Veo's resolutions. */
const SHORT_SIDES = { '480p': 480, '720p': 720, '1080p': 1080, '4k': 2160 } as const

const RATIO = /^([1-9]\d?):([1-9]\d?)$/

/** Another maker would make some other film of what is no shape at all. */
function assertFrame({ aspectRatio = '16:9', resolution = '720p' }: JsonObject): void {
  if (typeof aspectRatio !== 'string' || !RATIO.test(aspectRatio))
    throw invalidRequest('parameters.aspectRatio', "expected a ratio such as '16:9'")
  if (!isKeyOf(SHORT_SIDES, resolution))
    throw invalidRequest('parameters.resolution', `expected ${Object.keys(SHORT_SIDES).join(', ')}`)
}

/** What Veo does not make is Veo's to refuse. */
function frameOf({ aspectRatio, resolution }: JsonObject): VideoFrame {
  const short = isKeyOf(SHORT_SIDES, resolution) ? SHORT_SIDES[resolution] : DEFAULT_FRAME.height
  const [, across = '16', down = '9'] = RATIO.exec(asString(aspectRatio) ?? '') ?? []
  const ratio = Number(across) / Number(down)
  return ratio >= 1
    ? { width: Math.round(short * ratio), height: short }
    : { width: short, height: Math.round(short / ratio) }
}

/**
 * Writes an order, and says whether Veo makes its frame as it was asked for.
 * @throws GatewayError `unsupported_parameter`
 */
export function encodeVideoRequest({ terms, image }: VideoRequest): {
  body: JsonObject
  isSameFrame: boolean
} {
  if (image !== undefined && 'url' in image)
    throw unsupported('input_reference', 'must be sent by its bytes, since the upstream fetches no address')
  const { width, height } = terms.frame
  const frame = encodeFrame(terms.frame)
  const made = frameOf(frame)
  const body = {
    instances: [
      present({
        prompt: terms.prompt,
        image: image && { bytesBase64Encoded: image.base64, mimeType: image.mediaType },
      }),
    ],
    parameters: { ...frame, durationSeconds: terms.seconds },
  }
  return { body, isSameFrame: made.width === width && made.height === height }
}

/** The nearest of Veo's: two ratios in three resolutions. */
function encodeFrame({ width, height }: VideoFrame): JsonObject {
  const short = Math.min(width, height)
  const resolution = short >= 2160 ? '4k' : short >= 1024 ? '1080p' : '720p'
  return { aspectRatio: width >= height ? '16:9' : '9:16', resolution }
}

/** The name of an operation that was begun; undefined for what is none. */
export function operationName(json: JsonObject): string | undefined {
  const name = asString(json['name'])
  return name !== undefined && /^[\w./-]+\/operations\/[\w.-]+$/.test(name) && !name.includes('..')
    ? name
    : undefined
}

/** How an operation stands; `secondsEach` is what was ordered for each film. */
export function decodeOperation(json: JsonObject, secondsEach: number): VideoProgress {
  if (json['done'] !== true) return { ...NOTHING_YET, state: 'in_progress' }
  const error = asObject(json['error'])
  if (error !== undefined) {
    const message = asString(error['message']) ?? 'The video could not be made'
    return { ...NOTHING_YET, state: 'failed', fault: { code: 'video_generation_failed', message } }
  }
  const answer = asObject(asObject(json['response'])?.['generateVideoResponse']) ?? {}
  const files = asArray(answer['generatedSamples']).flatMap(
    sample => asString(asObject(asObject(sample)?.['video'])?.['uri']) ?? [],
  )
  if (files.length > 0)
    return { ...NOTHING_YET, state: 'completed', percent: 100, files, seconds: secondsEach * files.length }
  const reasons = asStrings(answer['raiMediaFilteredReasons'])
  const message = reasons.join(' ') || 'The video was withheld by the maker'
  return { ...NOTHING_YET, state: 'failed', fault: { code: 'moderation_blocked', message } }
}

const NOTHING_YET = {
  percent: 0,
  fault: undefined,
  seconds: undefined,
  files: [],
  keptUntil: undefined,
} as const

/** A job as Google's operation; `fileUris` are where a caller gets each film. */
export function encodeOperation(
  view: Pick<VideoView, 'state' | 'fault'> & { name: string },
  fileUris: readonly string[],
  upstream: JsonObject = {},
): JsonObject {
  const { name, state, fault } = view
  const metadata = asObject(upstream['metadata'])
  const begun = present({ name, metadata })
  if (state === 'failed') return { ...begun, done: true, ...failure(fault, upstream) }
  if (state !== 'completed') return begun
  const answer = asObject(asObject(upstream['response'])?.['generateVideoResponse']) ?? {}
  const samples = asArray(answer['generatedSamples'])
  const generatedSamples = fileUris.map((uri, index) => {
    const sample = asObject(samples[index]) ?? {}
    return { ...sample, video: { ...asObject(sample['video']), uri } }
  })
  return {
    ...begun,
    done: true,
    response: { '@type': RESPONSE_TYPE, generateVideoResponse: { ...answer, generatedSamples } },
  }
}

const RESPONSE_TYPE = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse'

/** google.rpc's code for what the caller asked wrongly, and for all else. */
const INVALID_ARGUMENT = 3
const INTERNAL = 13

/** Veo tells of what it withheld in an answer without films, and of all else in an error. */
function failure(fault: VideoView['fault'], upstream: JsonObject): JsonObject {
  const { response, error } = upstream
  if (response !== undefined) return { response }
  if (error !== undefined) return { error }
  const isBlocked = fault?.code === 'moderation_blocked'
  return {
    error: {
      code: isBlocked ? INVALID_ARGUMENT : INTERNAL,
      message: fault?.message ?? 'The video could not be made',
    },
  }
}
