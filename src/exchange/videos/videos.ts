import { createHash } from 'node:crypto'
import { GatewayError } from '@/errors/gateway-error.ts'
import { notOffered } from '@/exchange/admission/admission.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import type { OperationPrice } from '@/exchange/billing/quote.ts'
import { dialectOf } from '@/exchange/operations/dialect.ts'
import { Form, fieldsOf } from '@/exchange/operations/form.ts'
import {
  objectionIn,
  type PrepareContext,
  type PreparedWhole,
  type Served,
  type WholeOperation,
} from '@/exchange/operations/operation.ts'
import { JSON_TYPE, readJsonAnswer, renamed } from '@/exchange/operations/operation-wire.ts'
import { callerOf } from '@/exchange/record.ts'
import * as gemini from '@/formats/gemini-generate-content/videos.ts'
import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import * as openai from '@/formats/openai/videos.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import type { VideoImage, VideoProgress, VideoTerms } from '@/generation/video.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import type { Catalog, Route } from '@/routing/model.ts'
import type { Channel, ChannelKey } from '@/upstream/channel.ts'
import { type KeepDependencies, keepJob } from './keep.ts'
import type { VideoGateway, VideoJob } from './store.ts'
import { type VideoDialect, viewOf } from './view.ts'

/** A picture that a film begins with, where it has to be sent inside a JSON body. */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** An order as its surface read it. */
interface VideoOrder {
  /** What the job is kept with that comes of it. */
  gateway: KeepDependencies
  dialect: VideoDialect
  /** As the caller named it. */
  model: string
  body: RequestBody | Form
  /** Where callers reach this gateway. */
  origin: string
}

interface RemixOrder extends VideoOrder {
  gateway: KeepDependencies & Pick<VideoGateway, 'catalog'>
  body: RequestBody
}

/**
 * A film to be made (`/v1/videos`, `predictLongRunning`). The whole price is set aside; the hold goes to a job of ours,
 * which is charged when it ends well (look.ts).
 * @throws GatewayError `invalid_request`
 */
export function videoOperation(order: VideoOrder): WholeOperation {
  const { dialect, model, body } = order
  const wire = fieldsOf(body)
  const terms = dialect === 'openai' ? openai.videoTerms(wire) : gemini.videoTerms(wire)
  return {
    model,
    format: dialect === 'openai' ? SURFACE_FORMAT.videos : 'gemini-generate-content',
    delivery: 'whole',
    price: priceOf(terms),
    objection: ({ channel }) => objectionOf(order, wire, dialectOf(channel.format)),
    prepare: async (route, context) => {
      const isOwn = dialectOf(route.channel.format) === dialect
      const sent = isOwn ? passOn(order, route) : await writeForeign(order, wire, route)
      return { ...sent, read: reader(order, terms, context, undefined) }
    },
  }
}

/**
 * A film made anew from one that the account has (`/v1/videos/{id}/remix`), where that one was made and with the same
 * key.
 * @throws GatewayError `unsupported_parameter`
 */
export function remixOperation(order: RemixOrder, source: VideoJob): WholeOperation {
  if (dialectOf(source.channelFormat) !== 'openai')
    throw unsupported('video_id', 'is a video whose maker has no remix; order a new one')
  const maker = makerOf(source, order.gateway.catalog.channels())
  const terms = { ...source.content.terms, prompt: asString(order.body.json['prompt']) ?? '' }
  return {
    model: source.calledModel,
    format: SURFACE_FORMAT.videos,
    delivery: 'whole',
    price: priceOf(terms),
    objection: ({ channel }) => (channel.id === maker?.channel.id ? undefined : makerIsGone()),
    narrow: route => ({ ...route, channel: maker?.channel ?? route.channel }),
    prepare: ({ upstreamModel }, context) => ({
      call: { kind: 'video-remix', model: upstreamModel, stream: false, id: source.upstreamId },
      body: order.body.bytes,
      headers: {},
      losses: [],
      read: reader(order, terms, context, source.id),
    }),
  }
}

/** A channel, with the one key that sees a video there. */
interface Maker {
  channel: Channel
  key: ChannelKey | undefined
}

/**
 * Who made a video, of the channels that there are: the one of its channel's name, else any that has the key that it was
 * ordered with, as where the operator has renamed the channel. Undefined once the key, or a channel without any, is gone.
 */
function makerOf(job: VideoJob, channels: readonly Channel[]): Maker | undefined {
  const { channelKeyHash: hash } = job
  const isNamed = ({ name }: Channel) => name === job.channel
  const makers = channels.flatMap((channel): Maker[] => {
    if (channel.format !== job.channelFormat) return []
    if (hash === undefined)
      return isNamed(channel) ? [{ channel: { ...channel, keys: [] }, key: undefined }] : []
    const key = channel.keys.find(({ secret }) => Buffer.compare(hashOf(secret), hash) === 0)
    return key === undefined ? [] : [{ channel: { ...channel, keys: [key] }, key }]
  })
  return makers.find(({ channel }) => isNamed(channel)) ?? makers[0]
}

/**
 * Where a video is asked about.
 * @throws GatewayError `no_channel` once the operator took its channel or its key away
 */
export function makerIn(catalog: Catalog, job: VideoJob): Served {
  const maker = makerOf(job, catalog.channels())
  if (maker === undefined) throw makerIsGone()
  const { channel, key } = maker
  return { route: { channel, upstreamModel: job.upstreamModel, priority: 0, weight: 1 }, key }
}

function makerIsGone(): GatewayError {
  return new GatewayError('no_channel', 'The channel that made this video is not there any more', {
    callerMayRetry: false,
  })
}

function hashOf(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest()
}

function priceOf({ seconds, samples }: VideoTerms): OperationPrice {
  return { work: 'video', ceiling: { inputTokens: 0, outputTokens: 0, videoSeconds: seconds * samples } }
}

function objectionOf(
  { dialect, model, body }: VideoOrder,
  wire: JsonObject,
  target: VideoDialect | undefined,
): GatewayError | undefined {
  if (target === undefined) return notOffered(model)
  if (target === dialect) return undefined
  return objectionIn(() => encode(dialect, wire, body instanceof Form ? ANY_IMAGE : undefined, ''))
}

/** Stands for a form's file, which is not read until a route needs it. */
const ANY_IMAGE: VideoImage = { mediaType: 'image/png', base64: '' }

const CREATE = { openai: 'video-create', gemini: 'predict-long-running' } as const

/** To a maker that reads the caller's own words. */
function passOn({ dialect, body }: VideoOrder, route: Route) {
  const call = { kind: CREATE[dialect], model: route.upstreamModel, stream: false } as const
  // Gemini names the model in the path alone.
  if (dialect === 'openai' || body instanceof Form) return { call, ...renamed(body, route) }
  return { call, body: body.bytes, headers: {}, losses: [] }
}

/** An order at an upstream of the other vendor. */
async function writeForeign({ dialect, body }: VideoOrder, wire: JsonObject, { upstreamModel }: Route) {
  const image = body instanceof Form ? await imageIn(body) : undefined
  const { json, losses } = encode(dialect, wire, image, upstreamModel)
  const kind = CREATE[dialect === 'openai' ? 'gemini' : 'openai']
  return {
    call: { kind, model: upstreamModel, stream: false } as const,
    body: Buffer.from(JSON.stringify(json)),
    headers: {},
    losses,
  }
}

/** An order in the words of the other vendor. */
function encode(dialect: VideoDialect, wire: JsonObject, file: VideoImage | undefined, model: string) {
  if (dialect === 'gemini') {
    const request = gemini.decodeVideoRequest(wire)
    return { json: openai.encodeVideoRequest(request, model), losses: [...request.unread].sort() }
  }
  const request = openai.decodeVideoRequest(wire, file)
  const { body, isSameFrame } = gemini.encodeVideoRequest(request)
  return { json: body, losses: [...request.unread, ...(isSameFrame ? [] : ['size'])].sort() }
}

async function imageIn(form: Form): Promise<VideoImage | undefined> {
  const [file] = form.files('input_reference')
  if (file === undefined) return undefined
  if (!file.mediaType.startsWith('image/'))
    throw unsupported('input_reference', 'must be a picture for the upstream that makes this video')
  if (file.size > MAX_IMAGE_BYTES)
    throw invalidRequest(
      'input_reference',
      `larger than the ${MAX_IMAGE_BYTES} bytes that the upstream takes`,
    )
  const pieces: Uint8Array[] = []
  for await (const piece of file.read()) pieces.push(piece)
  return { mediaType: file.mediaType, base64: Buffer.concat(pieces).toString('base64') }
}

/** Takes in what a maker answered to an order: a job of ours comes of it, whose id the caller gets. */
function reader(
  { gateway, dialect, model, origin }: VideoOrder,
  terms: VideoTerms,
  context: PrepareContext,
  remixOf: string | undefined,
): PreparedWhole['read'] {
  return (bytes, _headers, served) => {
    const answer = readJsonAnswer(bytes)
    const job: VideoJob = {
      ...orderOf(context, model, served),
      ...beginningOf(answer, served, terms),
      remixOf,
      orderedSeconds: terms.seconds * terms.samples,
    }
    const body = JSON.stringify(viewOf(job, dialect, origin))
    return {
      body,
      contentType: JSON_TYPE,
      used: undefined,
      entrust: heldNano => keepJob(gateway, job, heldNano),
    }
  }
}

/** Whose order it is, where it went, and its times. */
function orderOf({ record, price }: PrepareContext, model: string, { route, key }: Served) {
  const { accountId, keyId } = callerOf(record)
  return {
    id: record.id,
    accountId,
    keyId,
    model: record.model ?? model,
    calledModel: model,
    channel: route.channel.name,
    channelFormat: route.channel.format,
    channelKeyHash: key && hashOf(key.secret),
    upstreamModel: route.upstreamModel,
    priceVersion: price?.version ?? 0n,
    money: 'held' as const,
    createdAt: new Date(record.startedAt),
    endedAt: undefined,
    deletedAt: undefined,
  }
}

/** How it stands at its maker. One that is over at once is found so by the first look, which sees to its money. */
function beginningOf(answer: JsonObject, { route }: Served, terms: VideoTerms) {
  const isVeo = dialectOf(route.channel.format) === 'gemini'
  const video = isVeo ? undefined : openai.decodeVideo(answer)
  const upstreamId = isVeo ? gemini.operationName(answer) : video?.id
  if (upstreamId === undefined) {
    throw new GatewayError('upstream_error', 'The upstream took the order and did not say under which name')
  }
  const isRunning = video?.state === 'in_progress'
  return {
    upstreamId,
    state: isRunning ? ('in_progress' as const) : ('queued' as const),
    percent: isRunning ? video.percent : 0,
    keptUntil: undefined,
    content: { terms, fault: undefined, files: [], answer },
  }
}

/** How a job stands, by what its maker says of it; undefined for what says nothing. */
export function readProgress(
  { channelFormat, content }: VideoJob,
  answer: JsonObject,
): VideoProgress | undefined {
  return dialectOf(channelFormat) === 'gemini'
    ? gemini.decodeOperation(answer, content.terms.seconds)
    : openai.decodeVideo(answer)
}
