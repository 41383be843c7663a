import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { asGatewayError } from '@/errors/gateway-error.ts'
import type { Listener } from '@/exchange/call.ts'
import { answerOnce } from '@/exchange/idempotency/answer-once.ts'
import type { IdempotentGateway } from '@/exchange/idempotency/idempotency.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'
import type { ResponseGateway } from '@/exchange/responses/kept-responses.ts'
import type { VideoGateway } from '@/exchange/videos/store.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import { callerAddress } from '@/net/caller-address.ts'
import { gemini } from '@/surfaces/gemini/gemini.ts'
import { models } from '@/surfaces/models/models.ts'
import type { ResponseSocket } from '@/surfaces/responses/response-socket.ts'
import { ResponseSockets } from '@/surfaces/responses/response-sockets.ts'
import { responses } from '@/surfaces/responses/responses.ts'
import { AnswerTurns } from './answer-turns.ts'
import { audio } from './audio.ts'
import { chatCompletions } from './chat-completions.ts'
import { CrossOrigin } from './cross-origin.ts'
import { embeddings } from './embeddings.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { unknownPath } from './unknown-path.ts'
import { videos } from './videos.ts'

/** Everything that the surfaces need of the process. Built once in commands/serve/gateway.ts. */
export type ApiGateway = IdempotentGateway & ResponseGateway & VideoGateway

/** The API's listener. */
export interface ApiHost {
  url: URL
  /** From now on every answer is the last of its connection: whoever has more to ask opens another, elsewhere. */
  leave(): void
  /** Takes no more connections; resolves when the open ones have ended. */
  drain(): Promise<void>
  /** Requests that are being answered. */
  pendingRequests(): number
  /** Ends whatever is still open. */
  stop(): Promise<void>
}

/** The router of the API: one Elysia instance for each surface, and a JSON 404 for every other path. */
function createApiHost(gateway: ApiGateway, listener: Listener) {
  return new Elysia({ name: 'api-host', strictPath: true, handler: { standardHostname: false } })
    .onError(({ error, code, request }) => {
      const requestId = gateway.newRequestId()
      if (code === 'NOT_FOUND') return unknownPath(request, requestId)
      gateway.log.error({ err: error, request_id: requestId }, 'a surface failed')
      return errorResponse(asGatewayError(error), requestId, undefined)
    })
    .use(models(gateway, listener))
    .use(chatCompletions(gateway, listener))
    .use(responses(gateway, listener))
    .use(messages(gateway, listener))
    .use(embeddings(gateway, listener))
    .use(images(gateway, listener))
    .use(audio(gateway, listener))
    .use(videos(gateway, listener))
    .use(gemini(gateway, listener))
}

/** Where the API host listens. */
interface ApiAddress {
  hostname: string
  /** 0: any free one. */
  port: number
  /** Whether other processes may listen there too; each new connection then goes to one of them. */
  isShared: boolean
  /** Whether Responses are served over WebSocket, too. */
  webSocket: boolean
  /** Addresses and CIDR ranges of proxies in front of it. */
  trustedProxies: readonly string[]
  /** Origins whose pages may call from a browser; `*`: all. */
  corsOrigins: readonly string[]
  /** How long the connection of a refused caller may stay open, in seconds. */
  restAfterErrorS?: number
}

const REST_AFTER_ERROR_S = 60

/** Listens, and answers through the gateway until it is stopped. */
export function serveApiHost(gateway: ApiGateway, address: ApiAddress): ApiHost {
  let isLeaving = false
  const received = new ReceivedRequests()
  const listener: Listener = {
    addressOf: request => {
      const original = received.originalOf(request)
      return callerAddress(server.requestIP(original)?.address, original.headers, address.trustedProxies)
    },
    isOpen: request => server.requestIP(received.originalOf(request)) !== null,
  }
  const answer = createAnswer(gateway, listener, received)
  const turns = new AnswerTurns()
  const sockets = new ResponseSockets(gateway)
  const crossOrigin = address.corsOrigins.length > 0 ? new CrossOrigin(address.corsOrigins) : undefined
  // Whoever was refused may be nobody's client, so the rest of their body is not waited for for ever. Any other answer may
  // take longer than the longest time that Bun can be told, which it counts from here on.
  const asSent = (response: Response, incoming: Request): Response => {
    if (isLeaving || gateway.load.isCrowded) response.headers.set('connection', 'close')
    crossOrigin?.allow(incoming, response)
    if (response.status >= 400) server.timeout(incoming, address.restAfterErrorS ?? REST_AFTER_ERROR_S)
    return response
  }
  const server: Server<ResponseSocket> = Bun.serve<ResponseSocket>({
    hostname: address.hostname,
    port: address.port,
    reusePort: address.isShared,
    // Models think for minutes; the exchange has its own timeouts and keepalives. A head has 10 s all the same.
    idleTimeout: 0,
    // Bun's own 413 has no body; the exchange counts.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: incoming => {
      const preflight = crossOrigin?.preflight(incoming)
      if (preflight !== undefined) {
        preflight.headers.set('x-request-id', gateway.newRequestId())
        return preflight
      }
      const request = received.replace(incoming, withWholeUrl(incoming))
      if (address.webSocket && ResponseSockets.isUpgrade(request)) {
        return sockets.upgrade(server, incoming, request, listener)
      }
      const answered = answer(request)
      if (!(answered instanceof Promise)) return asSent(answered, incoming)
      return answered.then(response => {
        const turn = turns.take()
        return turn === undefined ? asSent(response, incoming) : turn.then(() => asSent(response, incoming))
      })
    },
    websocket: sockets.handler,
    // Its page of an error shows source code.
    development: false,
    error: error => {
      const requestId = gateway.newRequestId()
      gateway.log.error({ err: error, request_id: requestId }, 'the API host failed')
      return errorResponse(asGatewayError(error), requestId, undefined)
    },
  })
  return {
    url: server.url,
    leave() {
      isLeaving = true
    },
    drain: async () => {
      await Promise.all([server.stop(false), sockets.drain()])
    },
    pendingRequests: () => server.pendingRequests,
    stop: () => server.stop(true),
  }
}

/** Requests that we made in place of a caller's, which have no socket of their own. */
class ReceivedRequests {
  readonly #originals = new WeakMap<Request, Request>()

  /** Notes that `request` stands for `original`, and returns it. */
  replace(original: Request, request: Request): Request {
    if (request !== original) this.#originals.set(request, this.originalOf(original))
    return request
  }

  /** The request as it came in by the socket. */
  originalOf(request: Request): Request {
    return this.#originals.get(request) ?? request
  }
}

/** Answers a request by the surface that it is for; one with an Idempotency-Key, once. */
function createAnswer(gateway: ApiGateway, listener: Listener, received: ReceivedRequests) {
  const app = createApiHost(gateway, listener)
  return (request: Request): Response | Promise<Response> => {
    // Elysia measures an answer to a HEAD by reading it to its end; Bun ends what flows, a film or a running response.
    if (request.method === 'HEAD') return app.fetch(received.replace(request, asGet(request)))
    if (request.method !== 'POST' || !request.headers.has('idempotency-key')) return app.fetch(request)
    return answerOnce(gateway, {
      request,
      listener,
      surface: surfaceOf(new URL(request.url).pathname),
      answer: again => Promise.resolve(app.fetch(received.replace(request, again))),
    })
  }
}

function asGet({ url, headers, signal }: Request): Request {
  return new Request(url, { headers, signal })
}

/** The surface in whose format errors on a path are written. */
function surfaceOf(path: string): ConversationSurface {
  if (path.startsWith('/v1/messages')) return 'messages'
  if (path.startsWith('/v1/responses')) return 'responses'
  return /^\/v1(?:beta|alpha|\/models)\//.test(path) ? 'gemini' : 'chat'
}

/**
 * Bun leaves the host out of `request.url` when the Host header is empty or is no host name, and takes it over when
 * it only looks like one (`x:y`); of a CONNECT it says the host alone. Such a request gets a neutral host, so that the
 * header changes no path.
 */
function withWholeUrl(request: Request): Request {
  if (URL.canParse(request.url)) return request
  const path = request.url.replace(/^https?:\/\/[^/]*/, '').replace(/^(?!\/)/, '/')
  return new Request(`http://localhost${path}`, request)
}
