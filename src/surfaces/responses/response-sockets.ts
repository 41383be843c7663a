import type { Server, WebSocketHandler } from 'bun'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { admitCaller, admitWork } from '@/exchange/admission/admission.ts'
import { authenticateCaller, endOfAccess } from '@/exchange/admission/authentication.ts'
import { noRoom } from '@/exchange/admission/body-arrival.ts'
import type { Listener } from '@/exchange/call.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'
import type { ResponseGateway } from '@/exchange/responses/kept-responses.ts'
import { fileLimit } from '@/limits/load.ts'
import { ResponseSocket } from './response-socket.ts'

/** How often the keys of open connections are looked at again, of which a revoked one ends its connection, and the memory. */
const CHECK_MS = 2_000

/** Without a pong for so long, in seconds, a connection is dead. */
const IDLE_SECONDS = 120

/** The version of the protocol that there is (RFC 6455). */
const WEBSOCKET_VERSION = '13'

/** More than any one event: what is sent waits for the buffer to be empty, so nothing is ever dropped for its size. */
const BUFFER_BYTES = 256 * 1024 * 1024

/** The largest frame that Bun can be told to take. */
const LARGEST_FRAME_BYTES = 2 ** 31 - 1

/** Connections that one account may have to this process: those at rest are within no limit of requests, and each is a file. */
const MOST_OF_ACCOUNT = Math.min(1_000, Math.floor(fileLimit() / 8))

/** All connections of the Responses surface over WebSocket. */
export class ResponseSockets {
  readonly #gateway: ResponseGateway
  readonly #open = new Set<ResponseSocket>()
  readonly #stop: () => void
  #isDraining = false
  /** Whether memory was short at the last look. */
  #wasShort = false
  #onEmpty: () => void = () => {}
  readonly #mostOfAccount: number

  constructor(gateway: ResponseGateway, mostOfAccount = MOST_OF_ACCOUNT) {
    this.#gateway = gateway
    this.#mostOfAccount = mostOfAccount
    this.#stop = gateway.clock.every(CHECK_MS, () => {
      this.#checkMemory()
      for (const socket of this.#open) void this.#checkKey(socket)
    })
  }

  /**
   * Frames that arrive are where nobody can count them, so their connections end before the process would. Bodies that one
   * caller may send at once are gone by the next look.
   */
  #checkMemory(): void {
    const { bodyRoom, metrics, log } = this.#gateway
    const [wasShort, isShort] = [this.#wasShort, bodyRoom.isShort]
    this.#wasShort = isShort
    if (!wasShort || !isShort) return
    const cut = [...this.#open].filter(socket => socket.makeRoom()).length
    if (cut === 0) return
    metrics.shed.inc({ reason: 'memory' }, cut)
    log.warn({ connections: cut }, 'memory is short: connections at rest were cut off')
  }

  /** True for a request that asks for such a connection. */
  static isUpgrade(request: Request): boolean {
    return (
      request.method === 'GET' &&
      request.headers.get('upgrade')?.toLowerCase() === 'websocket' &&
      new URL(request.url).pathname === '/v1/responses'
    )
  }

  /**
   * Opens a connection for a caller who may call; undefined, or the answer to one who may not.
   * @param incoming the request as the server has it, whose URL may lack the host
   */
  async upgrade(
    server: Server<ResponseSocket>,
    incoming: Request,
    request: Request,
    listener: Listener,
  ): Promise<Response | undefined> {
    const gateway = this.#gateway
    const requestId = gateway.newRequestId()
    try {
      admitWork(gateway)
      const caller = await authenticateCaller(gateway.authenticate, request)
      const address = listener.addressOf(request)
      admitCaller(caller, () => address)
      if (gateway.bodyRoom.isShort) {
        gateway.metrics.shed.inc({ reason: 'memory' })
        throw noRoom()
      }
      this.#admitOneMore(caller.accountId)
      const data = new ResponseSocket(gateway, request, caller.accountId, address)
      // Bun answers another version by itself, with an empty body.
      if (request.headers.get('sec-websocket-version') !== WEBSOCKET_VERSION) {
        throw new GatewayError(
          'websocket_unsupported',
          `WebSockets are served in version ${WEBSOCKET_VERSION} (sec-websocket-version) alone; or use POST`,
        )
      }
      if (server.upgrade(incoming, { data, headers: { 'x-request-id': requestId } })) return undefined
      throw new GatewayError('invalid_request', 'The WebSocket handshake is not complete')
    } catch (error) {
      return errorResponse(asGatewayError(error), requestId, 'responses')
    }
  }

  #admitOneMore(account: number): void {
    let open = 0
    for (const socket of this.#open) if (socket.account === account) open += 1
    if (open < this.#mostOfAccount) return
    throw new GatewayError(
      'too_many_concurrent',
      `This account has ${open} WebSockets open, as many as it may have`,
      { retryAfterMs: CHECK_MS },
    )
  }

  get handler(): WebSocketHandler<ResponseSocket> {
    return {
      idleTimeout: IDLE_SECONDS,
      sendPings: true,
      perMessageDeflate: false,
      maxPayloadLength: Math.min(this.#gateway.maxBodyBytes, LARGEST_FRAME_BYTES),
      backpressureLimit: BUFFER_BYTES,
      open: ws => {
        this.#open.add(ws.data)
        ws.data.open(ws)
        if (this.#isDraining) ws.data.leave()
      },
      message: (ws, message) => ws.data.message(message),
      drain: ws => ws.data.drain(),
      close: ws => {
        this.#open.delete(ws.data)
        ws.data.closed()
        if (this.#open.size === 0) this.#onEmpty()
      },
    }
  }

  /** Closes idle connections now and the others after what runs on them; resolves when none is left. */
  async drain(): Promise<void> {
    this.#isDraining = true
    this.#stop()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onEmpty = resolve
    if (this.#open.size === 0) resolve()
    for (const socket of this.#open) socket.leave()
    await promise
  }

  async #checkKey(socket: ResponseSocket): Promise<void> {
    const end = await endOfAccess(this.#gateway.authenticate, socket.request())
    if (end !== undefined) socket.refuse(end)
  }
}
