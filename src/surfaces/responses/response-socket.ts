import type { ServerWebSocket } from 'bun'
import { asGatewayError, GatewayError, messageWithId } from '@/errors/gateway-error.ts'
import { refuseManyParts } from '@/exchange/admission/body.ts'
import type { ConversationCall } from '@/exchange/call.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'
import type { ResponseGateway } from '@/exchange/responses/kept-responses.ts'
import { runResponse } from '@/exchange/responses/response-exchange.ts'
import { warmUp } from '@/exchange/responses/response-warm-up.ts'
import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import { spliceJson } from '@/json/splice.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import { readInputCall } from '@/surfaces/body-call.ts'
import { SocketMemory } from './socket-memory.ts'

/** Requests that may wait on one connection for those before them. */
const MAX_WAITING = 16

/** Errors that may wait on one connection for room to be told. Whoever earns more of them without reading is cut off. */
const MAX_UNTOLD = 64

/** Close codes (RFC 6455, 7.4.1). */
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008

/** Keys of the envelope, which is no part of the request. `generate: false` asks for no answer at all. */
const ENVELOPE = ['type', 'stream_id', 'generate', 'background'] as const

/** Statuses after which nothing more can come of a connection. */
const HOPELESS = new Set([401, 403])

/**
 * One connection of the Responses surface over WebSocket: each `response.create` frame is an exchange like a POST, and
 * its events are frames. One runs at a time, the others wait.
 */
export class ResponseSocket {
  readonly #gateway: ResponseGateway
  /** What the connection was opened with: its credentials go for every request on it. */
  readonly #opened: Pick<Request, 'url' | 'headers'>
  /** Where it came from. */
  readonly #address: string | undefined
  readonly #memory: SocketMemory
  readonly #waiting: string[] = []
  #ws: ServerWebSocket<ResponseSocket> | undefined
  #running: Promise<void> | undefined
  /** Whether what runs is an exchange, or its answer on its way: no refusal, and nothing that costs nothing. */
  #isAnswering = false
  /** By what the caller knows the answer to the last request, if it said so. */
  #lane: string | undefined
  /** Ends the request that runs. Each has its own: what listens to it would else stay as long as the connection. */
  #frame = new AbortController()
  /** What everybody waits for who sent something while the socket's buffer was full. */
  #room: PromiseWithResolvers<void> | undefined
  /** Errors that are on their way to the socket. */
  #untold = 0
  #isLeaving = false
  #isRefused = false
  /** Whose it is. */
  readonly account: number

  constructor(gateway: ResponseGateway, opened: Request, account: number, address: string | undefined) {
    this.#gateway = gateway
    this.account = account
    this.#memory = new SocketMemory(gateway.maxBodyBytes)
    this.#opened = { url: opened.url, headers: requestHeaders(opened.headers) }
    this.#address = address
  }

  /** A request as this connection would send it, for looking at its credentials again. */
  request(body?: Uint8Array): Request {
    const { url, headers } = this.#opened
    const init = { headers, signal: this.#frame.signal }
    return new Request(url, body === undefined ? init : { ...init, method: 'POST', body })
  }

  open(ws: ServerWebSocket<ResponseSocket>): void {
    this.#ws = ws
  }

  message(message: string | Buffer): void {
    if (typeof message !== 'string') {
      return this.#tell(invalidRequest('type', 'expected a text frame with a JSON object'), undefined)
    }
    if (!this.#mayWait(message)) {
      const error = new GatewayError('too_many_concurrent', 'Too many requests wait on this connection', {
        retryAfterMs: 1000,
      })
      return this.#tell(error, laneOf(message))
    }
    this.#waiting.push(message)
    this.#running ??= this.#work()
  }

  /** Those that wait hold no more memory together than the largest of them may. */
  #mayWait(message: string): boolean {
    const length = this.#waiting.reduce((sum, { length }) => sum + length, message.length)
    return this.#waiting.length < MAX_WAITING && length <= this.#gateway.maxBodyBytes
  }

  /** The caller's socket has room again. */
  drain(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  /** The connection is gone: whatever runs on it ends. */
  closed(): void {
    this.#waiting.length = 0
    this.#frame.abort()
    this.drain()
  }

  /** Closes the connection once nothing runs on it. */
  leave(): void {
    this.#isLeaving = true
    this.#waiting.length = 0
    if (this.#running === undefined) this.#ws?.close(GOING_AWAY, 'This gateway is shutting down')
  }

  /**
   * Cuts off a connection that no exchange runs on, which may hold most of a frame until its other end has closed it as well.
   * What else runs may wait for a caller who never reads. False: it stays.
   */
  makeRoom(): boolean {
    if (!this.#isAnswering) this.#ws?.terminate()
    return !this.#isAnswering
  }

  /** The key is not good any more: ends the connection, and what runs on it. Who has not read that by the next look is cut off. */
  refuse(error: GatewayError): void {
    if (this.#isRefused) return this.#ws?.terminate()
    this.#isRefused = true
    this.#tell(error, undefined)
  }

  async #work(): Promise<void> {
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
      await this.#serve(frame)
    }
    this.#running = undefined
    if (this.#isLeaving) this.leave()
  }

  async #serve(frame: string): Promise<void> {
    this.#frame = new AbortController()
    let lane: string | undefined
    try {
      const { bytes, json } = readFrame(frame)
      lane = asString(json?.['stream_id'])
      if (json === undefined) throw new GatewayError('invalid_json', 'The frame is not a JSON object')
      if (isSteer(json)) return await this.#refuseSteer(json)
      assertCreate(json)
      this.#lane = lane
      if (json['generate'] === false) return await this.#warmUp(bytes, lane)
      this.#isAnswering = true
      const response = await runResponse(this.#gateway, this.#callOf(bytes), this.#memory)
      this.#isAnswering = response.ok
      if (response.ok) await this.#forward(response, lane)
      else await this.#tellResponse(response, lane)
    } catch (error) {
      this.#tell(asGatewayError(error), lane)
    } finally {
      this.#isAnswering = false
    }
  }

  /** No upstream takes in what is said while it answers: the input goes back, for the request behind the answer. */
  async #refuseSteer({ previous_response_id, input }: JsonObject): Promise<void> {
    const refusal = new GatewayError(
      'unsupported_parameter',
      'Responses are not steered here: send the input with the next response.create',
    )
    const frame = {
      type: 'response.steer.failed',
      sequence_number: 0,
      steer: { previous_response_id, input },
      error: {
        type: 'invalid_request_error',
        code: 'steering_not_supported',
        message: messageWithId(refusal, this.#gateway.newRequestId()),
      },
    }
    await this.#send(JSON.stringify(frame), this.#lane)
  }

  #callOf(frame: Buffer): ConversationCall {
    const edits = ENVELOPE.map(name => ({ path: [name], remove: true }) as const)
    const body = spliceJson(frame, [...edits, { path: ['stream'], value: true }])
    return {
      request: this.request(body),
      listener: { addressOf: () => this.#address },
      surface: 'responses',
      readCall: readInputCall,
    }
  }

  async #warmUp(frame: Buffer, lane: string | undefined): Promise<void> {
    for (const event of await warmUp(this.#gateway, this.#callOf(frame), this.#memory)) {
      await this.#send(JSON.stringify(event), lane)
    }
  }

  /** Sends a stream's events as frames, as fast as the caller takes them. */
  async #forward({ body }: Response, lane: string | undefined): Promise<void> {
    if (body === null) return
    const reader = body.getReader()
    this.#frame.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    const parser = createSseParser()
    const events: SseEvent[] = []
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      parser.push(read.value, event => events.push(event))
      // An `error` frame ends what was asked: the `response.failed` behind it would be taken for the next answer's.
      for (const { event, data } of events.splice(0)) {
        if (event !== 'error' && data.startsWith('{')) await this.#send(data, lane)
      }
    }
  }

  async #send(data: string, lane: string | undefined): Promise<void> {
    const frame = lane === undefined ? data : `{"stream_id":${JSON.stringify(lane)},${data.slice(1)}`
    // -1: it waits in the socket's buffer, which is to be empty again before more is read.
    if (this.#ws?.send(frame) !== -1) return
    if (this.#frame.signal.aborted) return
    this.#room ??= Promise.withResolvers()
    await this.#room.promise
  }

  /** Each refused frame costs its sender a few bytes, and this process an answer that nobody may ever read. */
  #tell(error: GatewayError, lane: string | undefined): void {
    if (this.#untold === MAX_UNTOLD) return this.#ws?.terminate()
    this.#untold += 1
    const response = errorResponse(error, this.#gateway.newRequestId(), 'responses')
    this.#tellResponse(response, lane)
      .catch(() => undefined)
      .finally(() => {
        this.#untold -= 1
      })
  }

  /** An error as OpenAI's frames have it: its HTTP status beside the error, which stands flat, too, as in streams. */
  async #tellResponse(response: Response, lane: string | undefined): Promise<void> {
    const error = asObject(parseObject(await response.text())?.['error']) ?? {}
    const frame = {
      type: 'error',
      sequence_number: 0,
      status: response.status,
      code: error['code'] ?? null,
      message: error['message'] ?? '',
      param: error['param'] ?? null,
      error,
      headers: Object.fromEntries([...response.headers].filter(([name]) => TOLD_HEADERS.has(name))),
    }
    await this.#send(JSON.stringify(frame), lane)
    if (HOPELESS.has(response.status)) this.#ws?.close(POLICY_VIOLATION, 'This API key may not be used')
  }
}

const TOLD_HEADERS = new Set(['x-request-id', 'retry-after', 'retry-after-ms', 'x-should-retry'])

/** What the handshake brought along that is no part of a request. */
const HANDSHAKE = /^(?:sec-websocket-|upgrade$|connection$|content-|transfer-encoding$|idempotency-key$)/

function requestHeaders(handshake: Headers): Headers {
  const headers = new Headers()
  for (const [name, value] of handshake) if (!HANDSHAKE.test(name)) headers.set(name, value)
  return headers
}

/** @throws GatewayError for a frame that is not worth reading */
function readFrame(frame: string): { bytes: Buffer; json: JsonObject | undefined } {
  const bytes = Buffer.from(frame)
  refuseManyParts(bytes)
  return { bytes, json: parseObject(frame) }
}

/** By what the caller knows the answer to a frame that will not be served, if it says so. */
function laneOf(frame: string): string | undefined {
  try {
    return asString(readFrame(frame).json?.['stream_id'])
  } catch {
    return undefined
  }
}

function isSteer({ type, previous_response_id, input }: JsonObject): boolean {
  return type === 'response.steer' && typeof previous_response_id === 'string' && input !== undefined
}

function assertCreate(json: JsonObject): void {
  if (json['type'] !== 'response.create') throw invalidRequest('type', 'expected response.create')
  if (json['background'] === true) throw unsupported('background', 'is not served over WebSocket: use POST')
}
