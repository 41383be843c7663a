import { GatewayError } from '@/errors/gateway-error.ts'
import { endLimits } from '@/exchange/admission/limiting.ts'
import { send } from '@/exchange/attempt/attempt.ts'
import type { Listener } from '@/exchange/call.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { dialectOf } from '@/exchange/operations/dialect.ts'
import { admitFree } from '@/exchange/pass.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { pulledBody } from '@/exchange/relay/pulled-body.ts'
import { answerHeaders } from '@/exchange/relay/reply.ts'
import { unsupported } from '@/formats/invalid.ts'
import type { UpstreamCall } from '@/upstream/endpoint.ts'
import type { VideoJob } from './store.ts'
import { makerIn } from './videos.ts'

/** What a caller wants of a film. */
interface ContentCall {
  request: Request
  listener: Listener
  job: VideoJob
  /** Which of several films. */
  index: number
  /** `video`, `thumbnail` or `spritesheet`, of makers that have them; undefined: the film. */
  variant: string | undefined
}

/** Headers of the caller that say which bytes. */
const ASKED = ['range', 'if-range'] as const

/** Headers of the maker that say which bytes these are. */
const TOLD = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'content-disposition',
  'etag',
  'last-modified',
] as const

/**
 * The bytes of a film, from its maker to the caller as fast as the caller reads and without being kept; the maker's
 * connection is closed when the caller leaves, or may be given no more.
 * @throws GatewayError `not_found` while it is not ready, `unsupported_parameter`; of limits; of the maker
 */
export async function videoContent(
  gateway: Gateway,
  record: ExchangeRecord,
  call: ContentCall,
): Promise<Response> {
  const { request, listener, job } = call
  record.model = job.model
  const upstreamCall = callOf(call)
  const maker = makerIn(gateway.catalog, job)
  const pass = await admitFree(gateway, record)
  const attempt = new AbortController()
  let flows = false
  // Bun prints why a body breaks off, unless that is null.
  gateway.followers.follow(request, listener).listen(reason => attempt.abort(flows ? null : reason))
  const preparation = {
    call: upstreamCall,
    body: undefined,
    headers: { accept: '*/*', ...picked(request.headers, ASKED) },
    followsRedirects: true,
  }
  try {
    const response = await send({ gateway, pass }, { preparation, candidate: maker }, attempt)
    flows = true
    return new Response(bodyOf(response, upstreamCall), {
      status: response.status,
      headers: { ...picked(response.headers, TOLD), ...answerHeaders(record, gateway.clock.now()) },
    })
  } finally {
    // A film that flows takes no place from what costs money.
    endLimits(gateway, record)
  }
}

function callOf({ job, index, variant }: ContentCall): UpstreamCall {
  const { state, content, upstreamModel: model } = job
  if (state !== 'completed') throw new GatewayError('not_found', `This video is not ready: it is ${state}`)
  if (dialectOf(job.channelFormat) === 'openai') {
    if (index > 0) throw new GatewayError('not_found', 'This video has one file')
    const query = variant === undefined ? '' : new URLSearchParams({ variant }).toString()
    return { kind: 'video-content', model, stream: false, id: job.upstreamId, query }
  }
  if (variant !== undefined && variant !== 'video')
    throw unsupported('variant', 'must be video: the maker of this one has nothing else of it')
  const id = /\/files\/([^/:?]+)(?::download)?(?:\?|$)/.exec(content.files[index] ?? '')?.[1]
  if (id === undefined) throw new GatewayError('not_found', 'There is no such file of this video')
  return { kind: 'file-download', model, stream: false, id: decodeURIComponent(id) }
}

function picked(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap(name => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

/**
 * The maker's bytes as they are: those that never become objects of JavaScript's cost a quarter of the memory. But Bun
 * prints the address of a body that breaks off so, and where a redirect led may have a signature in it.
 */
function bodyOf(response: Response, { query = '' }: UpstreamCall): ReadableStream<Uint8Array> | null {
  const { search } = new URL(response.url)
  if (response.body === null || ['', '?alt=media', `?${query}`].includes(search)) return response.body
  const reader = response.body.getReader()
  return pulledBody(
    async () => (await reader.read()).value ?? 'closed',
    () => {
      reader.cancel().catch(() => undefined)
    },
  )
}
