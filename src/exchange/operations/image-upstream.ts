import { GatewayError } from '@/errors/gateway-error.ts'
import type { Prepared } from '@/exchange/attempt/failover.ts'
import * as gemini from '@/formats/gemini-generate-content/images.ts'
import * as openai from '@/formats/openai/images.ts'
import type { ImageAnswer, ImageRequest, LostFact } from '@/generation/image.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Route } from '@/routing/model.ts'
import type { StreamedBody } from '@/upstream/request.ts'
import { dialectOf } from './dialect.ts'
import { noAnswer } from './operation-wire.ts'
import { base64Length, encodeBase64, type Piece, type StoredPiece, sizeOf, streamOf } from './pieces.ts'

/** What is wrong with an answer that holds no image. */
export const NO_IMAGE = 'The upstream answered without an image'

/** How an upstream makes images. */
export type ImageWay = 'openai' | 'imagen' | 'gemini'

/** How a route makes images; undefined: not at all. */
export function imageWayOf({ channel, upstreamModel }: Route): ImageWay | undefined {
  const dialect = dialectOf(channel.format)
  return dialect === 'gemini' && gemini.isImagen(upstreamModel) ? 'imagen' : dialect
}

/** An image that a request brings along: in memory, or on disk. */
export type InputImage = { mediaType: string } & ({ base64: string } | StoredPiece)

/** The caller's words for what an upstream may be unable to say, or to make. */
export type ImageWords = Readonly<Record<LostFact | 'count', string>>

/**
 * A request written for an upstream of another format.
 * @throws GatewayError `unsupported_parameter`
 */
export function writeImages(
  request: ImageRequest,
  inputs: readonly InputImage[],
  route: Route,
  words: ImageWords,
): Prepared {
  const { upstreamModel: model } = route
  const way = imageWayOf(route)
  const losses = (lost: LostFact[]) => [...request.unread, ...lost.map(fact => words[fact])].sort()
  if (way === 'gemini') {
    const { before, after, lost } = gemini.encodeGenerateRequest(
      request,
      { vendor: route.channel.vendor, model },
      words.count,
    )
    return {
      call: { kind: 'generate', model, stream: false },
      body: bodyOf([Buffer.from(before), ...inputs.flatMap(inline), Buffer.from(after)]),
      headers: {},
      losses: losses(lost),
    }
  }
  const { body, lost } =
    way === 'imagen' ? gemini.encodePredictRequest(request) : openai.encodeImageRequest(request, model)
  return {
    call: { kind: way === 'imagen' ? 'predict' : 'image-generation', model, stream: false },
    body: Buffer.from(JSON.stringify(body)),
    headers: {},
    losses: losses(lost),
  }
}

function inline(image: InputImage): Piece[] {
  const { open, close } = gemini.inlineBrackets(image.mediaType)
  const content: Piece =
    'base64' in image
      ? Buffer.from(image.base64)
      : { size: base64Length(image.size), read: () => encodeBase64(image.read()) }
  return [Buffer.from(open), content, Buffer.from(close)]
}

function bodyOf(pieces: readonly Piece[]): Uint8Array | StreamedBody {
  const inMemory = pieces.filter(piece => piece instanceof Uint8Array)
  return inMemory.length === pieces.length
    ? Buffer.concat(inMemory)
    : { length: sizeOf(pieces), open: () => streamOf(pieces) }
}

/**
 * Reads what an upstream made.
 * @throws GatewayError for what is no answer, and for an answer without any image
 */
export function readImages(json: JsonObject, way: ImageWay): ImageAnswer {
  const answer = DECODERS[way](json)
  if (answer !== undefined && answer.images.length > 0) return answer
  const reason = answer?.withheld[0]
  if (reason === undefined) throw noAnswer(json, NO_IMAGE)
  throw new GatewayError('upstream_rejected', `The upstream withheld the image: ${reason.slice(0, 500)}`, {
    status: 400,
    code: 'moderation_blocked',
  })
}

const DECODERS = {
  openai: openai.decodeImageAnswer,
  imagen: gemini.decodePredictions,
  gemini: gemini.decodeGenerateAnswer,
} satisfies Record<ImageWay, (json: JsonObject) => ImageAnswer | undefined>
