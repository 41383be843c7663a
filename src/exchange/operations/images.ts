import type { GatewayError } from '@/errors/gateway-error.ts'
import { notOffered } from '@/exchange/admission/admission.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import { modelIn } from '@/exchange/admission/other-models.ts'
import type { Prepared } from '@/exchange/attempt/failover.ts'
import { textTokens, withMargin } from '@/exchange/billing/token-estimate.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import * as openai from '@/formats/openai/images.ts'
import type { ImageAnswer, ImageRequest } from '@/generation/image.ts'
import type { Rates } from '@/generation/rates.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asStrings,
  isJsonObject,
  type JsonObject,
} from '@/json/json.ts'
import { emptyLongStrings } from '@/json/skeleton.ts'
import type { Route } from '@/routing/model.ts'
import { EventsPipeline } from './events-pipeline.ts'
import { asksForStream, Form, fieldsOf } from './form.ts'
import { addUse, type ImageFacts, imageCeiling, imageUse } from './image-price.ts'
import {
  type ImageWay,
  type ImageWords,
  type InputImage,
  imageWayOf,
  NO_IMAGE,
  readImages,
  writeImages,
} from './image-upstream.ts'
import { JudgedPipeline } from './judged-pipeline.ts'
import {
  type Operation,
  type OperationPipeline,
  objectionIn,
  type PrepareContext,
  type PreparedStream,
  type PreparedWhole,
} from './operation.ts'
import { EVENTS_TYPE, JSON_TYPE, noAnswer, readJsonAnswer, renamed } from './operation-wire.ts'
import { WholePipeline } from './whole-pipeline.ts'

/** A call for images as its surface read it. */
interface ImageCall {
  action: openai.ImageAction
  body: RequestBody | Form
  /** As the caller named it. */
  model: string
}

const WORDS: ImageWords = { count: 'n', shape: 'size', mediaType: 'output_format' }

/** What the older models make if nothing is said, and what prices go by where an upstream does not say either. */
const USUAL_SIZE = '1024x1024'

/** Frames of a GIF of which nothing is said, and the most that there may be. */
const USUAL_FRAMES = 9
const MOST_FRAMES = 16

const MOST_PARTIAL = 10

/**
 * Images made, edited or varied (`/v1/images/*`), whole or streamed, on upstreams of OpenAI's kind, on Imagen and on
 * Gemini's models that answer with images.
 * @throws GatewayError `invalid_request`
 */
export function imageOperation(call: ImageCall): Operation {
  const asked = new ImageAsked(call)
  const common = {
    model: call.model,
    otherModels: authorsOf(asked.fields),
    format: SURFACE_FORMAT.images,
    price: {
      work: 'image' as const,
      ceiling: (rates: Rates) => imageCeiling({ ...asked, textTokens: withMargin(asked.textTokens) }, rates),
    },
    objection: (route: Route) => objectionOf(asked, route),
  }
  return asked.stream
    ? { ...common, delivery: 'events', prepare: (route, context) => prepareStream(asked, route, context) }
    : { ...common, delivery: 'whole', prepare: (route, context) => prepareWhole(asked, route, context) }
}

/** What a call asks for, as far as it can be told whatever the upstream. */
class ImageAsked {
  readonly call: ImageCall
  /** The fields of the body, those of a form as text. */
  readonly fields: JsonObject
  readonly count: number
  readonly partial: number
  readonly stream: boolean
  readonly facts: ImageFacts
  readonly textTokens: number
  /** Images that are brought along. */
  readonly inputs: number
  readonly frames: number
  readonly authored: boolean
  #request: ImageRequest | undefined

  constructor(call: ImageCall) {
    this.call = call
    this.fields = fieldsOf(call.body)
    openai.assertTexts(this.fields)
    // Nobody makes an image of nothing, so no upstream is asked whether it would.
    if (call.action === 'generation' && !asString(this.fields['prompt']))
      throw invalidRequest('prompt', 'expected a text')
    this.count = openai.countOf(this.fields) ?? 1
    this.partial = partialOf(this.fields)
    this.stream = asksForStream(this.fields)
    this.facts = factsOf(this.fields)
    this.textTokens = textTokens(this.fields['prompt'])
    this.inputs = inputCount(call)
    this.frames = framesOf(this.fields)
    this.authored = this.fields['output_format'] === 'svg'
  }

  /**
   * The request in no vendor's words; decoded only if a channel speaks another format.
   * @throws GatewayError `invalid_request`
   */
  request(): ImageRequest {
    this.#request ??= openai.decodeImageRequest(this.fields)
    return this.#request
  }
}

/**
 * The model that is to write an SVG, by the names that a form and a JSON body have for it.
 * @throws GatewayError `invalid_request`
 */
function authorsOf(fields: JsonObject): string[] {
  return [...asStrings([fields['svg[model]'] ?? null]), ...modelIn(asObject(fields['svg']) ?? {})]
}

/** Partial images of each image: as asked, within what anybody makes. Whether that can be asked for is the upstream's to say. */
function partialOf({ partial_images }: JsonObject): number {
  const said = asNumber(Number(partial_images ?? 0)) ?? MOST_PARTIAL
  return Math.min(MOST_PARTIAL, Math.max(0, Math.ceil(said)))
}

function framesOf({ output_format, frame_count }: JsonObject): number {
  if (output_format !== 'gif') return 1
  const said = Number(frame_count ?? USUAL_FRAMES)
  return said >= 1 && said <= MOST_FRAMES ? Math.ceil(said) : MOST_FRAMES
}

function inputCount({ body, action }: ImageCall): number {
  if (action === 'generation') return 0
  if (body instanceof Form) return body.files('image', 'image[]', 'mask').length
  const { images, image } = body.json
  const given = images ?? image
  return Array.isArray(given) ? given.length : 1
}

/** What a request or an answer says of the price; `auto` is nobody's word. */
function factsOf(fields: JsonObject): ImageFacts {
  const size = saidIn(fields, 'size')
  return { sizes: size === undefined ? [] : [size], quality: saidIn(fields, 'quality') }
}

function saidIn(fields: JsonObject, name: string): string | undefined {
  const said = asString(fields[name])
  return said === 'auto' ? undefined : said
}

function objectionOf(asked: ImageAsked, route: Route): GatewayError | undefined {
  const { call, fields } = asked
  const way = imageWayOf(route)
  if (way === undefined) return notOffered(call.model)
  if (way === 'openai') return undefined
  // Imagen makes images from words only, and nobody but OpenAI varies one without being told how.
  if (call.action === 'variation' || (call.action === 'edit' && way === 'imagen'))
    return notOffered(call.model)
  return objectionIn(() => {
    if (hasMask(call)) throw unsupported('mask', "cannot be told to this model's upstream")
    openai.refuseUrls(fields)
    writeImages(asked.request(), inputImages(asked), route, WORDS)
  })
}

function hasMask({ body }: ImageCall): boolean {
  return body instanceof Form ? body.files('mask').length > 0 : (body.json['mask'] ?? null) !== null
}

/** The images that an edit brings along. */
function inputImages({ call: { action, body } }: ImageAsked): InputImage[] {
  if (action === 'generation') return []
  return body instanceof Form ? body.files('image', 'image[]') : openai.decodeInputImages(body.json)
}

function prepareWhole(asked: ImageAsked, route: Route, context: PrepareContext): PreparedWhole {
  const way = imageWayOf(route) ?? 'openai'
  if (way === 'openai') {
    return {
      ...passOn(asked, route),
      read: bytes => {
        // Of images that are handed on nobody needs a second copy in memory.
        const json = readJsonAnswer(emptyLongStrings(bytes))
        const count = imagesIn(json)
        if (count === 0) throw noAnswer(json, NO_IMAGE)
        const used = useOf(asked, json, count, context.price?.rates)
        return { body: bytes, contentType: JSON_TYPE, used }
      },
    }
  }
  return {
    ...writeImages(asked.request(), inputImages(asked), route, WORDS),
    read: bytes => {
      const { answer, used, reply } = readForeign(asked, bytes, way, context)
      const body = JSON.stringify(openai.encodeImageAnswer(answer, reply))
      return { body, contentType: JSON_TYPE, used }
    },
  }
}

/** How many images an answer holds: some servers name the list `images`, MiniMax has it inside `data`. */
function imagesIn(json: JsonObject): number {
  const made = json['data'] ?? json['images']
  const lists = isJsonObject(made) ? Object.values(made) : [made]
  return Math.max(...lists.map(list => asArray(list).length), 0)
}

function prepareStream(asked: ImageAsked, route: Route, context: PrepareContext): PreparedStream {
  const way = imageWayOf(route) ?? 'openai'
  const { price, encodeError } = context
  const whole = () =>
    new WholePipeline({
      contentType: EVENTS_TYPE,
      encodeError,
      read: bytes => {
        const { answer, used, reply } = readForeign(asked, bytes, way, context)
        return { told: openai.encodeImageEvents(answer, reply, asked.call.action), used }
      },
    })
  if (way !== 'openai') {
    return { ...writeImages(asked.request(), inputImages(asked), route, WORDS), open: whole }
  }
  return {
    ...passOn(asked, route),
    // An upstream that does not stream images answers whole, whatever it was asked.
    open: () => new JudgedPipeline({ flowing: events(asked, price?.rates, encodeError), whole: whole() }),
  }
}

function events(
  asked: ImageAsked,
  rates: Rates | undefined,
  encodeError: PrepareContext['encodeError'],
): OperationPipeline {
  return new EventsPipeline({
    last: openai.LAST_EVENTS,
    count: asked.count,
    reported: data => useOf(asked, data, 1, rates),
    // Partial images show what is being made, so who has seen them has had the image.
    estimated: () => ({ ...useOf(asked, {}, asked.count, rates), source: 'estimated' }),
    sum: addUse,
    encodeError,
  })
}

/** The caller's own request, with nothing changed but the model. */
function passOn({ call: { body, action }, stream }: ImageAsked, route: Route): Prepared {
  return { call: { kind: KINDS[action], model: route.upstreamModel, stream }, ...renamed(body, route) }
}

const KINDS = {
  generation: 'image-generation',
  edit: 'image-edit',
  variation: 'image-variation',
} as const satisfies Record<openai.ImageAction, string>

function readForeign(
  asked: ImageAsked,
  bytes: Uint8Array,
  way: ImageWay,
  { record, price }: PrepareContext,
): { answer: ImageAnswer; used: UsedUp; reply: openai.ImageReply } {
  const json = readJsonAnswer(bytes)
  const answer = readImages(json, way)
  const { facts, textTokens } = asked
  const count = answer.images.length
  const used =
    way === 'openai'
      ? useOf(asked, json, count, price?.rates)
      : imageUse({ facts: known(facts), count, usage: answer.usage, textTokens }, price?.rates)
  const reply = { createdAt: Math.floor(record.startedAt / 1000), size: facts.sizes[0] }
  return { answer, used, reply }
}

/** What an upstream of OpenAI's kind has used: what its answer says of size and quality goes before what was asked. */
function useOf(asked: ImageAsked, json: JsonObject, count: number, rates: Rates | undefined): UsedUp {
  const told = factsOf(json)
  const facts = known({
    sizes: told.sizes.length > 0 ? told.sizes : asked.facts.sizes,
    quality: told.quality ?? asked.facts.quality,
  })
  const drawn = imageUse(
    { facts, count, usage: openai.decodeImageUsage(json), textTokens: asked.textTokens },
    rates,
  )
  const authored = openai.decodeAuthorUsage(json)
  return authored === undefined ? drawn : addUse(drawn, { usage: authored, source: 'reported' })
}

function known(facts: ImageFacts): ImageFacts {
  return facts.sizes.length > 0 ? facts : { ...facts, sizes: [USUAL_SIZE] }
}
