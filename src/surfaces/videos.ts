import { Elysia } from 'elysia'
import { inTime } from '@/db/in-time.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import { attendWork } from '@/exchange/attendance.ts'
import type { Listener, OperationCall } from '@/exchange/call.ts'
import { runOperation } from '@/exchange/exchange.ts'
import { Form, fieldsOf, readFormOrBody } from '@/exchange/operations/form.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import { videoContent } from '@/exchange/videos/content.ts'
import { forget, lookAt } from '@/exchange/videos/look.ts'
import type { VideoGateway, VideoJob } from '@/exchange/videos/store.ts'
import { remixOperation, videoOperation } from '@/exchange/videos/videos.ts'
import { readVideoId, videoIdOf, viewOf } from '@/exchange/videos/view.ts'
import type { JsonObject } from '@/json/json.ts'
import { readModel } from './body-call.ts'
import { readPage } from './page-query.ts'

const SURFACE = 'videos'

/** OpenAI videos: ordered, looked at, listed, fetched, made anew, deleted. */
export function videos(gateway: VideoGateway, listener: Listener) {
  const order = (request: Request, read: OperationCall['read']) =>
    runOperation(gateway, { request, listener, surface: SURFACE, read })
  const about = (request: Request, act: Parameters<typeof attendWork>[2]) =>
    attendWork(gateway, { request, listener, surface: SURFACE }, act)
  return new Elysia({ name: 'videos' })
    .post('/v1/videos', ({ request }) => order(request, orderReader(gateway)), { parse: 'none' })
    .get('/v1/videos', ({ request }) =>
      about(request, ({ caller }) => listOf(gateway, caller.accountId, request)),
    )
    .get('/v1/videos/:id', ({ request, params }) =>
      about(request, async ({ caller }) => {
        const job = await fresh(gateway, await findVideo(gateway, caller.accountId, readVideoId(params.id)))
        return viewOf(job, 'openai', originOf(gateway, request))
      }),
    )
    .get('/v1/videos/:id/content', ({ request, params }) =>
      about(request, async ({ caller, record }) => {
        const job = await findVideo(gateway, caller.accountId, readVideoId(params.id))
        const variant = new URL(request.url).searchParams.get('variant') ?? undefined
        return videoContent(gateway, record, { request, listener, job, index: 0, variant })
      }),
    )
    .delete('/v1/videos/:id', ({ request, params }) =>
      about(request, async ({ caller }) => {
        const job = await findVideo(gateway, caller.accountId, readVideoId(params.id))
        await gateway.videos.hide(job.id)
        // One that is still being made is deleted at its maker when it is done and paid.
        if (job.money !== 'held') await forget(gateway, job)
        return { id: params.id, object: 'video.deleted', deleted: true }
      }),
    )
    .post(
      '/v1/videos/:id/remix',
      ({ request, params }) => order(request, remixReader(gateway, readVideoId(params.id))),
      { parse: 'none' },
    )
}

/** Where callers reach this gateway. */
export function originOf(gateway: VideoGateway, request: Request): string {
  return gateway.publicUrl ?? new URL(request.url).origin
}

/** @throws GatewayError `not_found`, with one text for what does not exist, was deleted, or is another account's */
export async function findVideo(
  gateway: VideoGateway,
  accountId: number,
  id: string | undefined,
): Promise<VideoJob> {
  const job = id === undefined ? undefined : await inTime(gateway.videos.find(accountId, id), gateway.clock)
  if (job === undefined) throw new GatewayError('not_found', 'There is no such video')
  return job
}

/** A job as its maker has it now, unless somebody else is just looking; then as it was last seen. */
export async function fresh(gateway: VideoGateway, job: VideoJob): Promise<VideoJob> {
  const leased = job.money === 'held' ? await gateway.videos.lease(job.id) : undefined
  return leased === undefined ? job : lookAt(gateway, leased)
}

function orderReader(gateway: VideoGateway): OperationCall['read'] {
  return async (request, terms, record) => {
    const body = await readFormOrBody(request, terms, record)
    const model = readModel(fieldsOf(body))
    const origin = originOf(gateway, request)
    return videoOperation({ gateway, dialect: 'openai', model, origin, body })
  }
}

function remixReader(gateway: VideoGateway, id: string | undefined): OperationCall['read'] {
  return async (request, terms, record) => {
    const source = await findVideo(gateway, callerOf(record).accountId, id)
    const body = await readRemix(request, terms, record)
    const origin = originOf(gateway, request)
    return remixOperation({ gateway, dialect: 'openai', model: source.calledModel, origin, body }, source)
  }
}

/** A form that holds nothing but values is as good as the JSON that says the same. */
async function readRemix(request: Request, terms: BodyTerms, record: ExchangeRecord): Promise<RequestBody> {
  const body = await readFormOrBody(request, terms, record)
  if (!(body instanceof Form)) return body
  const json: JsonObject = { prompt: body.value('prompt') }
  return { json, bytes: Buffer.from(JSON.stringify(json)) }
}

async function listOf(gateway: VideoGateway, accountId: number, request: Request): Promise<JsonObject> {
  const { searchParams: query } = new URL(request.url)
  const after = query.get('after')
  const id = after === null ? undefined : (await findVideo(gateway, accountId, readVideoId(after))).id
  const found = gateway.videos.page(accountId, { after: id, ...readPage(query) })
  const page = await inTime(found, gateway.clock)
  const data = page.jobs.map(job => viewOf(job, 'openai', originOf(gateway, request)))
  const [first, last] = [page.jobs[0], page.jobs.at(-1)]
  return {
    object: 'list',
    data,
    first_id: first === undefined ? null : videoIdOf(first.id),
    last_id: last === undefined ? null : videoIdOf(last.id),
    has_more: page.hasMore,
  }
}
