import type { Format } from '@/generation/format.ts'
import { asString, type JsonObject, parseObject } from '@/json/json.ts'
import { chat } from '@/simulator/chat/chat.ts'
import { gemini } from '@/simulator/gemini/gemini.ts'
import { messages } from '@/simulator/messages/messages.ts'
import { readOperationFields } from '@/simulator/operations/fields.ts'
import { type Film, readRange } from '@/simulator/operations/film.ts'
import { createOperations } from '@/simulator/operations/operations.ts'
import type { OperationRoute } from '@/simulator/operations/route.ts'
import { responses } from '@/simulator/responses/responses.ts'
import { type Delivery, deliver } from './delivery.ts'
import type { Dialect, DialectRequest, Exchange } from './exchange.ts'
import { Failure, simulatedFailure } from './failure.ts'
import { requireKey, requireModel } from './gate.ts'
import { modelEntry, modelList } from './models.ts'
import type { Prompt } from './prompt.ts'
import { formatOfPath, type Route, routeOf } from './route.ts'
import { play } from './script.ts'
import type { Steering } from './steering.ts'
import { countPrompt, createPromptCache } from './usage.ts'

/** The world that a simulator answers in. */
export interface AnswererOptions extends Delivery {
  /** The clock, in milliseconds since 1970. */
  now: () => number
}

/** Answers one request; `count` is its number since the start, so that equal requests get different ids. */
export type Answerer = (
  request: Request,
  url: URL,
  body: Uint8Array<ArrayBuffer>,
  count: number,
) => Promise<Response>

const DIALECTS = {
  'openai-chat-completions': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'gemini-generate-content': gemini,
} satisfies Record<Format, Dialect>

/** Neither an event stream nor JSON, and not even UTF-8. */
const GARBAGE = new Uint8Array([
  ...Buffer.from('<html>\x00\r\n\r\n{"data: '),
  0xff,
  0xfe,
  0xc3,
  0x28,
  ...Buffer.from('\n\n}garbage'),
])

/** Answers in whichever format the path is of. It keeps the prompt cache and the jobs of one simulator. */
export function createAnswerer({ now, ...delivery }: AnswererOptions): Answerer {
  const { sleep, observer } = delivery
  const cache = createPromptCache()
  const operate = createOperations()

  function generate(context: Context): Response {
    const { dialect, dialectRequest, steering } = context
    const prompt = dialect.read(dialectRequest)
    const exchange = planExchange(steering, prompt, context)
    if (!prompt.stream) return sendWhole(JSON.stringify(dialect.whole(exchange)), context)
    return send(dialect.stream(exchange, dialectRequest), dialect.streamType(dialectRequest), context)
  }

  /** An answer in one piece; when it is to be cut, its first half and then a broken connection. */
  function sendWhole(text: string, context: Context): Response {
    const { steering, seed } = context
    if (steering.cutAfter !== undefined) {
      const half = [text.slice(0, text.length / 2)].values()
      return send(half, JSON_TYPE, {
        ...context,
        steering: { ...steering, cutAfter: Math.min(1, steering.cutAfter) },
      })
    }
    const plain = steering.splitBytes === undefined && !steering.garbage
    return plain ? whole(text, 200, seed) : send([text].values(), JSON_TYPE, context)
  }

  /** What comes before any answer: the wait, and the error that stands instead of one. */
  async function begin({ slowMs, hangs, errorStatus }: Steering, signal: AbortSignal): Promise<void> {
    if (slowMs > 0) await sleep(slowMs, signal)
    if (hangs) await untilAborted(signal)
    if (errorStatus !== undefined) throw simulatedFailure(errorStatus)
  }

  async function answerOperation(
    route: OperationRoute,
    request: Request,
    url: URL,
    bytes: Uint8Array<ArrayBuffer>,
    seed: string,
  ): Promise<Response> {
    const fields = await readOperationFields(request.headers.get('content-type'), bytes)
    await begin(
      requireModel(route.format, route.model ?? asString(fields.body['model']) ?? 'echo'),
      request.signal,
    )
    const createdSeconds = Math.floor(now() / 1000)
    const answer = operate({ route, fields, seed, createdSeconds, origin: url.origin })
    const { body, contentType } = answer
    if (typeof body !== 'string' && 'read' in body) return film(body, contentType, request, seed)
    return whole(body, 200, seed, { 'content-type': contentType })
  }

  /** The bytes that a Range header asks for, as fast as they are read. */
  function film(content: Film, contentType: string, request: Request, seed: string): Response {
    const { size } = content
    const range = readRange(request.headers.get('range'), size)
    if (range === null) throw new Failure(416, 'The requested range is not satisfiable.')
    const { from, to } = range ?? { from: 0, to: size }
    const steering = requireModel('openai-chat-completions', 'echo')
    return new Response(deliver(content.read(from, to), steering, request.signal, delivery), {
      status: range === undefined ? 200 : 206,
      headers: {
        'content-type': contentType,
        'accept-ranges': 'bytes',
        'content-length': String(to - from),
        ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
        ...requestIds(seed),
      },
    })
  }

  function planExchange(
    steering: Steering,
    prompt: Prompt,
    { dialect, dialectRequest, seed }: Context,
  ): Exchange {
    const output = { reasoning: 0, visible: 0 }
    return {
      seed,
      createdSeconds: Math.floor(now() / 1000),
      prompt,
      body: dialectRequest.body,
      input: cache.count(prompt, dialect.cachePolicy),
      output,
      reportsUsage: steering.reportsUsage,
      play: () => play(steering, prompt, output),
    }
  }

  function send(
    frames: Iterator<string>,
    contentType: string,
    { steering, seed, signal }: Context,
  ): Response {
    const content = steering.garbage ? [GARBAGE].values() : frames
    return new Response(deliver(content, steering, signal, delivery), {
      headers: { 'content-type': contentType, 'cache-control': 'no-cache', ...requestIds(seed) },
    })
  }

  function whole(
    text: string | Uint8Array<ArrayBuffer>,
    status: number,
    seed: string,
    more: Record<string, string> = {},
  ): Response {
    observer.sent(Buffer.byteLength(text))
    observer.ended('completed')
    return new Response(text, {
      status,
      headers: { 'content-type': JSON_TYPE, ...requestIds(seed), ...more },
    })
  }

  return async (request, url, bytes, count) => {
    const seed = Bun.hash(bytes, BigInt(count)).toString(16).padStart(16, '0')
    const route = routeOf(request.method, url, request.headers)
    const format = route?.format ?? formatOfPath(url.pathname)
    try {
      if (route === undefined)
        throw new Failure(404, `Unknown request URL: ${request.method} ${url.pathname}.`, {
          code: 'unknown_url',
        })
      requireKey(format, request.headers, url.searchParams)
      if (route.kind === 'list') return whole(JSON.stringify(listAnswer(format, route.model)), 200, seed)
      if (route.kind === 'operation') return await answerOperation(route, request, url, bytes, seed)
      const context = contextOf(route, request, url, bytes, seed)
      await begin(context.steering, request.signal)
      if (route.kind === 'generate') return generate(context)
      const tokens = countPrompt(context.dialect.read(context.dialectRequest))
      return whole(JSON.stringify(context.dialect.countBody(tokens)), 200, seed)
    } catch (error) {
      if (error instanceof Failure) {
        const retry: Record<string, string> = error.status === 429 ? { 'retry-after': '1' } : {}
        return whole(errorText(format, error, seed, url), error.status, seed, retry)
      }
      observer.ended('cancelled')
      throw error
    }
  }
}

/** What one generating or counting request needs on its way. */
interface Context {
  dialect: Dialect
  dialectRequest: DialectRequest
  steering: Steering
  seed: string
  signal: AbortSignal
}

const JSON_TYPE = 'application/json; charset=utf-8'

function contextOf(
  route: Extract<Route, { kind: 'generate' | 'count' }>,
  request: Request,
  url: URL,
  bytes: Uint8Array,
  seed: string,
): Context {
  const dialect = DIALECTS[route.format]
  const body = parseObject(new TextDecoder().decode(bytes))
  if (body === undefined)
    throw new Failure(
      400,
      'We could not parse the JSON body of your request. The API expects a JSON object.',
      { code: 'invalid_json' },
    )
  const dialectRequest: DialectRequest = {
    pathModel: route.pathModel,
    pathStreams: route.kind === 'generate' && route.pathStreams,
    counts: route.kind === 'count',
    headers: request.headers,
    query: url.searchParams,
    body,
  }
  const model = route.pathModel === '' ? asString(body['model']) : route.pathModel
  if (model === undefined) dialect.read(dialectRequest)
  return {
    dialect,
    dialectRequest,
    steering: requireModel(route.format, model ?? ''),
    seed,
    signal: request.signal,
  }
}

function listAnswer(format: Format, model: string | undefined): JsonObject {
  if (model === undefined) return modelList(format)
  requireModel(format, model)
  return modelEntry(format, model)
}

function errorText(format: Format, failure: Failure, seed: string, url: URL): string {
  const body = DIALECTS[format].errorBody(failure, seed)
  const inArray = url.pathname.endsWith(':streamGenerateContent') && url.searchParams.get('alt') !== 'sse'
  return JSON.stringify(inArray ? [body] : body)
}

function requestIds(seed: string): Record<string, string> {
  return { 'x-request-id': `req_${seed}`, 'request-id': `req_${seed}` }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
