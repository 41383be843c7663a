import { pause } from '@/clock/wait.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { fetchWhole } from '@/exchange/attempt/attempt.ts'
import { Interruption } from '@/exchange/interruption.ts'
import { dialectOf } from '@/exchange/operations/dialect.ts'
import { passOf } from '@/exchange/pass.ts'
import type { Charge } from '@/exchange/record.ts'
import type { Extras } from '@/generation/extras.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import type { VideoFault } from '@/generation/video.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'
import type { UpstreamCall } from '@/upstream/endpoint.ts'
import type { LeasedJob, VideoGateway, VideoJob, VideoNews } from './store.ts'
import { makerIn, readProgress } from './videos.ts'

/** A maker that does not tell within this time is asked again later. */
const LOOK_MS = 10_000

/** A maker may not know its own job at once; after this long it has lost it. */
const LOST_AFTER_MS = 60_000

/** Between two looks: a twentieth of the job's age, within these bounds. */
const SOONEST_MS = 3_000
const LATEST_MS = 30_000

/**
 * Looks at a job that was leased for it: asks its maker, and ends it when the maker has. A film is charged once, by the
 * prices of its order; one that failed, got lost or is past its deadline gets its money back.
 */
export async function lookAt(gateway: VideoGateway, leased: LeasedJob): Promise<VideoJob> {
  const { job, ageMs } = leased
  try {
    if (hasEnded(job)) return await close(gateway, job)
    const news = await hear(gateway, leased)
    if (hasEnded(news)) return await close(gateway, await gateway.videos.end(job.id, news))
    await gateway.videos.postpone(job.id, pauseAt(ageMs), news)
    return { ...job, ...news }
  } catch (error) {
    const { message, detail } = asGatewayError(error)
    gateway.log.warn(
      { job: job.id, channel: job.channel, error: message, detail },
      'a video could not be looked at',
    )
    await gateway.videos.postpone(job.id, pauseAt(ageMs))
    return job
  }
}

function hasEnded({ state }: Pick<VideoJob, 'state'>): boolean {
  return state === 'completed' || state === 'failed'
}

function pauseAt(ageMs: number): number {
  return Math.min(LATEST_MS, Math.max(SOONEST_MS, ageMs / 20))
}

/** What is known of a job now. */
async function hear(gateway: VideoGateway, leased: LeasedJob): Promise<VideoNews> {
  const { job, isOverdue } = leased
  const news = await ask(gateway, job).catch(error => unheard(leased, error))
  return isOverdue && !hasEnded(news) ? failed({ ...job, ...news }, OVERDUE) : news
}

/** What the maker says of a job. */
async function ask(gateway: VideoGateway, job: VideoJob): Promise<VideoNews> {
  const kind = dialectOf(job.channelFormat) === 'gemini' ? 'operation' : 'video-show'
  const answer = await askMaker(gateway, job, kind)
  const progress = readProgress(job, answer)
  if (progress === undefined) throw untold()
  const { state, percent, fault, files, seconds, keptUntil } = progress
  return {
    state,
    percent,
    keptUntil: keptUntil === undefined ? undefined : new Date(keptUntil * 1000),
    content: { terms: job.content.terms, fault, files, answer, madeSeconds: seconds },
  }
}

function untold(): GatewayError {
  return new GatewayError('upstream_error', 'The maker of a video did not tell how it is')
}

/**
 * One call to the channel and key that made a video, read as JSON.
 * @throws GatewayError
 */
async function askMaker(
  gateway: VideoGateway,
  job: VideoJob,
  kind: UpstreamCall['kind'],
): Promise<JsonObject> {
  const call = { kind, model: job.upstreamModel, stream: false, id: job.upstreamId }
  const sending = {
    preparation: { call, body: undefined, headers: {} },
    candidate: makerIn(gateway.catalog, job),
  }
  const interruption = new Interruption()
  const cancel = gateway.clock.after(LOOK_MS, () =>
    interruption.interrupt(new GatewayError('upstream_timeout', 'No answer')),
  )
  try {
    return await fetchWhole({ gateway, pass: passOf(job), interruption }, sending, bytes => {
      const answer = parseObject(new TextDecoder().decode(bytes))
      if (answer === undefined) throw untold()
      return answer
    })
  } finally {
    cancel()
  }
}

/**
 * What a maker's refusal to tell comes to: the job is lost there, or past its deadline.
 * @throws GatewayError what it refused with, of any other job
 */
function unheard({ job, ageMs, isOverdue }: LeasedJob, error: unknown): VideoNews {
  const failure = asGatewayError(error)
  const isLost = failure.status === 404 && failure.kind === 'upstream_rejected' && ageMs > LOST_AFTER_MS
  if (isLost) return failed(job, LOST)
  if (isOverdue) return failed(job, OVERDUE)
  throw failure
}

const LOST: VideoFault = { code: 'video_lost', message: 'The maker of this video does not know it any more' }
const OVERDUE: VideoFault = { code: 'video_expired', message: 'This video was not finished in time' }

function failed(job: VideoJob, fault: VideoFault): VideoNews {
  return { state: 'failed', percent: job.percent, keptUntil: undefined, content: { ...job.content, fault } }
}

/**
 * Moves the money of a job that has ended, then closes it. How it ended is stored by then, and the ledger does either once:
 * whoever comes again after a crash does the same, whatever the maker says by now.
 */
async function close(gateway: VideoGateway, job: VideoJob): Promise<VideoJob> {
  if (job.money !== 'held') return job
  const money = job.state === 'completed' ? 'charged' : 'released'
  if (money === 'charged') await charge(gateway, job)
  else await gateway.ledger.release(payerOf(job))
  await gateway.videos.close(job.id, money)
  gateway.log.info(
    { job: job.id, account: job.accountId, channel: job.channel, state: job.state, money },
    'video',
  )
  if (job.deletedAt !== undefined) await forget(gateway, job)
  return { ...job, money }
}

async function charge(gateway: VideoGateway, job: VideoJob): Promise<void> {
  const { ledger, videos, metrics, credit } = gateway
  const rates = await videos.rates(job.priceVersion)
  if (rates === undefined)
    throw new Error(`price version ${job.priceVersion} of video ${job.id} is not there`)
  const extras = { videoSeconds: job.content.madeSeconds ?? job.orderedSeconds }
  const { pico } = costOf(NO_USAGE, rates, extras)
  const cost = { pico, nano: roundUp(pico), priceVersion: job.priceVersion, serviceTier: undefined }
  const result = await ledger.settle({ ...payerOf(job), costNano: cost.nano, costPico: cost.pico })
  credit.answered(job.accountId, 0n, result.availableNano)
  metrics.charges.of('reported', result.outcome).add()
  metrics.overrunNano.inc(Number(result.overrunNano))
  await completeResult(gateway, job, cost, extras)
}

/** Results are written behind; that of a fast maker's order may not be there yet. */
const RESULT_TRIES = 20
const RESULT_PAUSE_MS = 100

async function completeResult(
  gateway: VideoGateway,
  { id }: VideoJob,
  cost: Charge,
  extras: Extras,
): Promise<void> {
  const { videos, log, clock } = gateway
  for (let tries = 1; !(await videos.bill(id, cost, extras)); tries += 1) {
    if (tries === RESULT_TRIES) return log.warn({ job: id }, 'the order of a video has no result')
    await pause(RESULT_PAUSE_MS, clock)
  }
}

/** Of so many at once. */
const LATE_RESULTS = 100

/**
 * Completes results of orders of so many days that were stored after their films were charged, as those that a killed process
 * has left in its notes until its machine is back. What is charged is not charged again.
 */
export async function completeLateResults(gateway: VideoGateway, days: number): Promise<void> {
  const { videos, log } = gateway
  for (const job of await videos.unbilled(days, LATE_RESULTS)) {
    await charge(gateway, job).catch(err =>
      log.warn({ job: job.id, err }, 'the order of a video has no cost'),
    )
  }
}

/** Has the maker delete a video whose owner did; where that is impossible, or fails, it goes when its time is up. */
export async function forget(gateway: VideoGateway, job: VideoJob): Promise<void> {
  if (dialectOf(job.channelFormat) !== 'openai') return
  await askMaker(gateway, job, 'video-delete').catch(error =>
    gateway.log.warn({ job: job.id, error: asGatewayError(error).message }, 'a video could not be deleted'),
  )
}

function payerOf({ id, accountId, keyId }: VideoJob) {
  return { id, accountId, keyId }
}
