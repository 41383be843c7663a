import type { Target } from '@/formats/codec.ts'
import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { nearestRatio } from '@/formats/media/aspect-ratio.ts'
import type { ImageAnswer, ImageRequest, LostFact, MadeImage } from '@/generation/image.ts'
import {
  asArray,
  asIndex,
  asObject,
  asString,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'
import { decodeFinishReason } from './answer/finish.ts'
import { readUsage } from './answer/usage.ts'
import { modelTraits, unstored } from './models.ts'
import { callerPath, camelKeys, parametersOf, unknownKeys } from './request/keys.ts'

/**
 * Images at Gemini's API: Imagen has a call of its own (`:predict`), the Gemini models make them as parts of an answer.
 * https://ai.google.dev/gemini-api/docs/imagen https://ai.google.dev/gemini-api/docs/image-generation
 */

/** Imagen's own limit, and what it makes if nothing is said. */
const MAX_PREDICTIONS = 4
const IMAGEN_RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'] as const
const IMAGEN_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg'])
/** What an image's size is called, each double the last; the first unless said. */
const IMAGE_SIZES = ['1K', '2K', '4K'] as const
const GEMINI_RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const

/** Whether an upstream's model is called by `:predict`. */
export function isImagen(upstreamModel: string): boolean {
  return /(?:^|\/)imagen/i.test(upstreamModel)
}

/** How many images a `:predict` asks for. A wrong number is the upstream's to refuse. */
export function predictionCount(wire: JsonObject): number {
  const body = camelKeys(wire)
  const parameters = parametersOf(body)
  const each = asIndex(parameters['sampleCount']) ?? MAX_PREDICTIONS
  return each * Math.max(1, asArray(body['instances']).length)
}

/** What prices may go by, the most telling first. */
export function predictionSizes(wire: JsonObject): string[] {
  const parameters = parametersOf(camelKeys(wire))
  const size = asString(parameters['sampleImageSize']) ?? asString(parameters['imageSize'])
  return [size, asString(parameters['aspectRatio']) ?? '1:1'].filter(name => name !== undefined)
}

const KNOWN_PARTS = new Set(['instances', 'parameters'])
const KNOWN_INSTANCE = new Set(['prompt'])
const KNOWN_PARAMETERS = new Set(['sampleCount', 'aspectRatio', 'outputOptions'])
const KNOWN_OUTPUT = new Set(['mimeType'])

/** @throws GatewayError `invalid_request`; `unsupported_parameter` for what only Imagen itself can do */
export function decodePredictRequest(wire: JsonObject): ImageRequest {
  const body = camelKeys(wire)
  const [instance, ...others] = asArray(body['instances'])
  const prompt = asString(asObject(instance)?.['prompt'])
  if (prompt === undefined || prompt === '') throw invalidRequest('instances[0].prompt', 'expected a text')
  if (others.length > 0) throw unsupported('instances[1]', 'is one prompt too many: the upstream takes one')
  const parameters = parametersOf(body)
  const count = parameters['sampleCount']
  if (count !== undefined && !((asIndex(count) ?? 0) >= 1))
    throw invalidRequest(callerPath('parameters.sampleCount', wire), 'expected a whole number above 0')
  const { aspectRatio } = parameters
  const output = asObject(parameters['outputOptions'] ?? {})
  const mediaType = output?.['mimeType']
  if (output === undefined || typeof (mediaType ?? '') !== 'string')
    throw invalidRequest(callerPath('parameters.outputOptions', wire), 'expected an object with mimeType')
  if (aspectRatio !== undefined && !/^\d+:\d+$/.test(asString(aspectRatio) ?? ''))
    throw invalidRequest(callerPath('parameters.aspectRatio', wire), "expected a ratio such as '16:9'")
  return {
    prompt,
    count: asIndex(count),
    size: undefined,
    aspectRatio: asString(aspectRatio),
    mediaType: asString(mediaType),
    unread: [
      ...unknownKeys(body, KNOWN_PARTS),
      ...unknownKeys(asObject(instance), KNOWN_INSTANCE, 'instances.'),
      ...unknownKeys(parameters, KNOWN_PARAMETERS, 'parameters.'),
      ...unknownKeys(output, KNOWN_OUTPUT, 'parameters.outputOptions.'),
    ],
  }
}

/**
 * Writes a `:predict`. The nearest aspect ratio takes the place of a size.
 * @throws GatewayError `unsupported_parameter`
 */
export function encodePredictRequest(request: ImageRequest): { body: JsonObject; lost: LostFact[] } {
  const { count = 1, mediaType } = request
  const takesType = mediaType === undefined || IMAGEN_TYPES.has(mediaType)
  if (count > MAX_PREDICTIONS) throw unsupported('n', `cannot be above ${MAX_PREDICTIONS} for this model`)
  const { ratio, isSame } = ratioOf(request, IMAGEN_RATIOS)
  const isLarger = largerSize(request) !== undefined
  return {
    body: {
      instances: [{ prompt: request.prompt }],
      parameters: present({
        sampleCount: count,
        aspectRatio: ratio,
        outputOptions: mediaType !== undefined && takesType ? { mimeType: mediaType } : undefined,
      }),
    },
    lost: lostFacts(isSame && !isLarger, takesType),
  }
}

function lostFacts(isSameShape: boolean, takesType: boolean): LostFact[] {
  return [...(isSameShape ? [] : (['shape'] as const)), ...(takesType ? [] : (['mediaType'] as const))]
}

/** Undefined for what is no answer to a `:predict`. */
export function decodePredictions(json: JsonObject): ImageAnswer | undefined {
  if (!Array.isArray(json['predictions'])) return undefined
  const predictions = asArray(json['predictions']).map(entry => asObject(entry) ?? {})
  return {
    images: predictions.flatMap(decodePrediction),
    withheld: predictions.flatMap(entry => asString(entry['raiFilteredReason']) ?? []),
    usage: undefined,
  }
}

function decodePrediction(entry: JsonObject): MadeImage[] {
  const base64 = asString(entry['bytesBase64Encoded'])
  if (base64 === undefined) return []
  const mediaType = asString(entry['mimeType']) ?? 'image/png'
  return [{ mediaType, base64, revisedPrompt: asString(entry['prompt']) }]
}

/** Writes the answer to a `:predict`, which has no place for usage. */
export function encodePredictions({ images }: ImageAnswer): JsonObject {
  return {
    predictions: images.map(({ mediaType, base64, revisedPrompt }) =>
      present({ mimeType: mediaType, bytesBase64Encoded: base64, prompt: revisedPrompt }),
    ),
  }
}

/**
 * Writes a `generateContent` that answers with an image, in two pieces: what stands before the images that are to be
 * changed and what follows, since those may be too large for memory.
 * @param countName what the caller calls the number of images
 * @throws GatewayError `unsupported_parameter`
 */
export function encodeGenerateRequest(
  request: ImageRequest,
  target: Pick<Target, 'vendor' | 'model'>,
  countName: string,
): {
  before: string
  after: string
  lost: LostFact[]
} {
  if ((request.count ?? 1) > 1) throw unsupported(countName, 'cannot be above 1 for this model')
  const { ratio, isSame } = ratioOf(request, GEMINI_RATIOS)
  const larger = largerSize(request)
  const takesSize = larger === undefined || modelTraits(target.model).imageSizes
  const imageSize = takesSize ? larger : undefined
  const imageConfig = ratio === undefined ? undefined : present({ aspectRatio: ratio, imageSize })
  const rest = { generationConfig: { responseModalities: ['IMAGE'], imageConfig }, ...unstored(target) }
  return {
    before: `{"contents":[{"role":"user","parts":[${JSON.stringify({ text: request.prompt })}`,
    after: `]}],${JSON.stringify(rest).slice(1)}`,
    lost: lostFacts(isSame && takesSize, request.mediaType === undefined),
  }
}

/** What stands around the base64 of an image among the parts. */
export function inlineBrackets(mediaType: string): { open: string; close: string } {
  return { open: `,{"inlineData":{"mimeType":${JSON.stringify(mediaType)},"data":"`, close: '"}}' }
}

/** Undefined for what is no answer to a `generateContent`. */
export function decodeGenerateAnswer(json: JsonObject): ImageAnswer | undefined {
  const feedback = asString(asObject(json['promptFeedback'])?.['blockReason'])
  const candidates = asArray(json['candidates']).map(entry => asObject(entry) ?? {})
  if (candidates.length === 0 && feedback === undefined) return undefined
  return {
    images: candidates.flatMap(({ content }) => asArray(asObject(content)?.['parts']).flatMap(decodePart)),
    withheld: [feedback, ...candidates.map(({ finishReason }) => withheldBy(finishReason))].filter(
      reason => reason !== undefined,
    ),
    usage: readUsage(asObject(json['usageMetadata'])),
  }
}

function withheldBy(reason: JsonValue | undefined): string | undefined {
  return decodeFinishReason(reason) === 'content-filter' ? String(reason) : undefined
}

/** Images that the model only thought of are marked as thoughts. */
function decodePart(part: JsonValue): MadeImage[] {
  const { inlineData, thought } = asObject(part) ?? {}
  const { mimeType, data } = asObject(inlineData) ?? {}
  const mediaType = asString(mimeType) ?? ''
  if (thought === true || typeof data !== 'string' || !mediaType.startsWith('image/')) return []
  return [{ mediaType, base64: data, revisedPrompt: undefined }]
}

function ratioOf(
  { size, aspectRatio }: ImageRequest,
  ratios: readonly string[],
): { ratio: string | undefined; isSame: boolean } {
  if (aspectRatio !== undefined) return { ratio: aspectRatio, isSame: true }
  const nearest = size && nearestRatio(size, ratios)
  return { ratio: nearest?.ratio, isSame: nearest?.isSame ?? true }
}

/** The nearest size, where that is a larger one than what is made if nothing is said. */
function largerSize({ size }: ImageRequest): (typeof IMAGE_SIZES)[number] | undefined {
  if (size === undefined) return undefined
  const doublings = Math.round(Math.log2(Math.sqrt(size.width * size.height) / 1024))
  return doublings < 1 ? undefined : (IMAGE_SIZES[doublings] ?? IMAGE_SIZES.at(-1))
}
