import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { nearestRatio, parseSize, sizeOfRatio } from '@/formats/media/aspect-ratio.ts'
import { parseDataUri } from '@/formats/media/data-uri.ts'
import type { ImageAnswer, ImageRequest, LostFact, MadeImage } from '@/generation/image.ts'
import { NO_USAGE, outputTokens, readCount, type Usage } from '@/generation/usage.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, present } from '@/json/json.ts'
import { formatEvent } from '@/sse/event.ts'
import { imageTypeOf, outputFormatOf } from './image-type.ts'
import { toldSides } from './shared-fields.ts'
import { unknownFields } from './unknown-fields.ts'

/**
 * What OpenAI's `/v1/images/*` does; the same at every upstream with an API like OpenAI's.
 * https://platform.openai.com/docs/api-reference/images
 */
export type ImageAction = 'generation' | 'edit' | 'variation'

/** The events with which a streamed image is complete. */
export const LAST_EVENTS = ['image_generation.completed', 'image_edit.completed'] as const

/** The most that a caller may ask for at once. */
const MAX_COUNT = 10

/** What is meant for the gateway or for the way of the answer, and reaches every upstream in its own way. */
const KNOWN = new Set([
  ...['model', 'prompt', 'n', 'size', 'stream', 'response_format', 'output_format'],
  ...['image', 'image[]', 'images', 'mask'],
])

/**
 * Reads the fields of a JSON body or of a form, whose values are all text.
 * @throws GatewayError `invalid_request`
 */
export function decodeImageRequest(fields: JsonObject): ImageRequest {
  const prompt = asString(fields['prompt'])
  if (prompt === undefined || prompt === '') throw invalidRequest('prompt', 'expected a text')
  const size = asString(fields['size'])
  if (size !== undefined && size !== 'auto' && parseSize(size) === undefined)
    throw invalidRequest('size', "expected 'auto' or WIDTHxHEIGHT")
  const format = asString(fields['output_format'])
  return {
    prompt,
    count: countOf(fields),
    size: parseSize(size),
    aspectRatio: undefined,
    mediaType: format === undefined ? undefined : imageTypeOf(format),
    unread: unknownFields(fields, KNOWN),
  }
}

/**
 * How many images are asked for; undefined if nothing is said.
 * @throws GatewayError `invalid_request`
 */
export function countOf(fields: JsonObject): number | undefined {
  const said = fields['n'] ?? undefined
  if (said === undefined) return undefined
  const count = typeof said === 'string' ? Number(said) : said
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MAX_COUNT) return count
  throw invalidRequest('n', `expected a whole number from 1 to ${MAX_COUNT}`)
}

/** What an image is and costs goes by these. */
const TEXTS = ['prompt', 'size', 'quality', 'output_format', 'svg[model]'] as const

/**
 * Holds the fields that prices go by to one text each.
 * @throws GatewayError `invalid_request`
 */
export function assertTexts(fields: JsonObject): void {
  const wrong = TEXTS.find(name => typeof (fields[name] ?? '') !== 'string')
  if (wrong !== undefined) throw invalidRequest(wrong, 'expected one text')
}

/**
 * Holds a request to what an upstream without a place to keep images can give.
 * @throws GatewayError `unsupported_parameter`
 */
export function refuseUrls(fields: JsonObject): void {
  if ((fields['response_format'] ?? 'b64_json') === 'b64_json') return
  throw unsupported(
    'response_format',
    "can only be 'b64_json': this model's upstream returns the images themselves",
  )
}

/** Writes a generation, for callers of other formats. What the model has no size for is a loss. */
export function encodeImageRequest(
  request: ImageRequest,
  model: string,
): { body: JsonObject; lost: LostFact[] } {
  const wanted =
    request.size ?? (request.aspectRatio === undefined ? undefined : sizeOfRatio(request.aspectRatio))
  const sizes = sizesOf(model)
  const ratios = sizes.map(size => size.replace('x', ':'))
  const nearest = wanted && nearestRatio(wanted, ratios)
  const { count, mediaType } = request
  const format = mediaType && outputFormatOf(mediaType)
  return {
    body: present({
      model,
      prompt: request.prompt,
      n: count,
      size: nearest?.ratio.replace(':', 'x'),
      // The older models give addresses unless told, the newer ones refuse to be told.
      response_format: isDallE(model) ? 'b64_json' : undefined,
      output_format: isDallE(model) ? undefined : format,
    }),
    lost: nearest === undefined || nearest.isSame ? [] : ['shape'],
  }
}

function isDallE(model: string): boolean {
  return /dall-?e/i.test(model)
}

function sizesOf(model: string): readonly string[] {
  if (/dall-?e-?3/i.test(model)) return ['1024x1024', '1792x1024', '1024x1792']
  if (isDallE(model)) return ['1024x1024']
  return ['1024x1024', '1536x1024', '1024x1536']
}

/** Undefined for what holds no image that can be handed on. */
export function decodeImageAnswer(json: JsonObject): ImageAnswer | undefined {
  const mediaType = imageTypeOf(asString(json['output_format']))
  const images = asArray(json['data']).flatMap(entry => decodeImage(asObject(entry) ?? {}, mediaType))
  return images.length === 0 ? undefined : { images, withheld: [], usage: decodeImageUsage(json) }
}

function decodeImage(entry: JsonObject, mediaType: string): MadeImage[] {
  const revisedPrompt = asString(entry['revised_prompt'])
  const base64 = asString(entry['b64_json'])
  if (base64 !== undefined) return [{ mediaType, base64, revisedPrompt }]
  const inline = parseDataUri(asString(entry['url']) ?? '')
  return inline === undefined ? [] : [{ ...inline, revisedPrompt }]
}

/** What an answer or a last event says was used; undefined if it says nothing (the older models do not). */
export function decodeImageUsage(json: JsonObject): Usage | undefined {
  const usage = asObject(json['usage'])
  const told = toldSides(usage)
  if (told === undefined) return undefined
  const { input, output } = told
  const cached = asNumber(asObject(usage?.['input_tokens_details'])?.['cached_tokens']) ?? 0
  const cacheRead = Math.max(0, Math.min(cached, input))
  return { ...NO_USAGE, inputUncached: input - cacheRead, cacheRead, outputText: output }
}

/** What the model that wrote an SVG has used; `usage` holds only what drawing used. Undefined if none wrote one. */
export function decodeAuthorUsage(json: JsonObject): Usage | undefined {
  const usage = asObject(json['svg_usage'])
  const told = toldSides(usage)
  if (told === undefined) return undefined
  const { input, output } = told
  const reasoning = Math.min(output, readCount(usage?.['reasoning_tokens']) ?? 0)
  return { ...NO_USAGE, inputUncached: input, outputText: output - reasoning, reasoning }
}

/** What an answer says that the images do not. */
export interface ImageReply {
  /** Seconds since 1970. */
  createdAt: number
  /** As the caller asked for it; undefined is the model's own. */
  size: string | undefined
}

/** Writes a whole answer, for callers of this format where another one's upstream made the images. */
export function encodeImageAnswer(
  { images, usage }: ImageAnswer,
  { createdAt, size }: ImageReply,
): JsonObject {
  return present({
    created: createdAt,
    data: images.map(image => present({ b64_json: image.base64, revised_prompt: image.revisedPrompt })),
    output_format: outputFormatOf(images[0]?.mediaType),
    size,
    usage: usage && encodeUsage(usage),
  })
}

/** A whole answer as the events of a stream: one for each image, the last of which has the usage. */
export function encodeImageEvents(
  { images, usage }: ImageAnswer,
  { createdAt, size }: ImageReply,
  action: ImageAction,
): string {
  const type = action === 'edit' ? 'image_edit.completed' : 'image_generation.completed'
  return images
    .map((image, index) => {
      const isLast = index === images.length - 1
      const event = {
        type,
        b64_json: image.base64,
        created_at: createdAt,
        size: size ?? 'auto',
        quality: 'auto',
        background: 'auto',
        output_format: outputFormatOf(image.mediaType),
        usage: isLast && usage !== undefined ? encodeUsage(usage) : undefined,
      }
      return formatEvent(type, JSON.stringify(event))
    })
    .join('')
}

function encodeUsage(usage: Usage): JsonObject {
  const input = usage.inputUncached + usage.cacheRead
  const output = outputTokens(usage)
  return {
    input_tokens: input,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
    output_tokens: output,
    total_tokens: input + output,
  }
}

/** An image that a JSON edit brings along. */
export function decodeInputImages(fields: JsonObject): { mediaType: string; base64: string }[] {
  const { images, image } = fields
  const one = image === undefined ? [] : [image]
  const given = [images, image].find(value => Array.isArray(value)) ?? one
  return given.map((entry, index) => {
    const name = images === undefined ? `image[${index}]` : `images[${index}]`
    const url = asString(entry) ?? asString(asObject(entry)?.['image_url'])
    const inline = parseDataUri(url ?? '')
    if (inline !== undefined) return inline
    throw unsupported(name, "must be a data URI here: this model's upstream keeps no files and fetches none")
  })
}
