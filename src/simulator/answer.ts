import type { Format } from '@/generation/format.ts'
import { asString, type JsonObject, parseObject } from '@/json/json.ts'
import { chat } from '@/simulator/chat/chat.ts'
import type { Delivery } from '@/simulator/delivery/delivery.ts'
import { requireKey, requireModel } from '@/simulator/delivery/gate.ts'
import { type Addressee, Sender } from '@/simulator/delivery/sending.ts'
import { gemini } from '@/simulator/gemini/gemini.ts'
import { messages } from '@/simulator/messages/messages.ts'
import { readOperationFields } from '@/simulator/operations/fields.ts'
import { createOperations } from '@/simulator/operations/operations.ts'
import type { OperationRoute } from '@/simulator/operations/route.ts'
import { responses } from '@/simulator/responses/responses.ts'
import { modelEntry, modelList } from '@/simulator/script/models.ts'
import { play } from '@/simulator/script/script.ts'
import type { Steering } from '@/simulator/script/steering.ts'
import { countPrompt, createPromptCache } from '@/simulator/script/usage.ts'
import type { Dialect, DialectRequest, Exchange } from './exchange.ts'
import { Failure, simulatedFailure } from './failure.ts'
import type { Prompt } from './prompt.ts'
import { formatOfPath, type Route, routeOf } from './route.ts'

/** The world that a simulator answers in. */
interface AnswererOptions extends Delivery {
  /** The clock, in milliseconds since 1970. */
  now: () => number
}

const DIALECTS = {
  'openai-chat-completions': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'gemini-generate-content': gemini,
} satisfies Record<Format, Dialect>

/** What was asked, as it came. */
interface Call {
  request: Request
  url: URL
  body: Uint8Array<ArrayBuffer>
  /** What every id in the answer begins with. */
  seed: string
}

/** Answers in whichever format the path is of. It keeps the prompt cache and the jobs of one simulator. */
export class Answerer {
  readonly #options: AnswererOptions
  readonly #sender: Sender
  readonly #cache = createPromptCache()
  readonly #operate = createOperations()

  constructor(options: AnswererOptions) {
    this.#options = options
    this.#sender = new Sender(options)
  }

  /** Answers one request; `count` is its number since the start, so that equal requests get different ids. */
  async answer(request: Request, url: URL, body: Uint8Array<ArrayBuffer>, count: number): Promise<Response> {
    const seed = Bun.hash(body, BigInt(count)).toString(16).padStart(16, '0')
    const route = routeOf(request.method, url, request.headers)
    const format = route?.format ?? formatOfPath(url.pathname)
    try {
      return await this.#serve(route, format, { request, url, body, seed })
    } catch (error) {
      if (error instanceof Failure) {
        const retry: Record<string, string> = error.status === 429 ? { 'retry-after': '1' } : {}
        return this.#sender.atOnce(errorText(format, error, seed, url), error.status, seed, retry)
      }
      this.#options.observer.ended('cancelled')
      throw error
    }
  }

  async #serve(route: Route | undefined, format: Format, call: Call): Promise<Response> {
    const { request, url, seed } = call
    if (route === undefined)
      throw new Failure(404, `Unknown request URL: ${request.method} ${url.pathname}.`, {
        code: 'unknown_url',
      })
    requireKey(format, request.headers, url.searchParams)
    if (route.kind === 'list')
      return this.#sender.atOnce(JSON.stringify(listAnswer(format, route.model)), 200, seed)
    if (route.kind === 'operation') return this.#operation(route, call)
    const context = contextOf(route, call)
    await this.#begin(context.steering, request.signal)
    if (route.kind === 'generate') return this.#generate(context)
    const tokens = countPrompt(context.dialect.read(context.dialectRequest))
    return this.#sender.atOnce(JSON.stringify(context.dialect.countBody(tokens)), 200, seed)
  }

  /** What comes before any answer: the wait, and the error that stands instead of one. */
  async #begin({ slowMs, hangs, errorStatus }: Steering, signal: AbortSignal): Promise<void> {
    if (slowMs > 0) await this.#options.sleep(slowMs, signal)
    if (hangs) await untilAborted(signal)
    if (errorStatus !== undefined) throw simulatedFailure(errorStatus)
  }

  #generate(context: Context): Response {
    const { dialect, dialectRequest, steering } = context
    const prompt = dialect.read(dialectRequest)
    const exchange = this.#plan(steering, prompt, context)
    if (!prompt.stream) return this.#sender.whole(JSON.stringify(dialect.whole(exchange)), context)
    const frames = dialect.stream(exchange, dialectRequest)
    return this.#sender.frames(frames, dialect.streamType(dialectRequest), context)
  }

  #plan(steering: Steering, prompt: Prompt, { dialect, dialectRequest, seed }: Context): Exchange {
    const output = { reasoning: 0, visible: 0 }
    return {
      seed,
      createdSeconds: this.#nowSeconds(),
      prompt,
      body: dialectRequest.body,
      input: this.#cache.count(prompt, dialect.cachePolicy),
      output,
      reportsUsage: steering.reportsUsage,
      play: () => play(steering, prompt, output),
    }
  }

  async #operation(route: OperationRoute, { request, url, body: bytes, seed }: Call): Promise<Response> {
    const fields = await readOperationFields(request.headers.get('content-type'), bytes)
    const model = route.model ?? asString(fields.body['model']) ?? 'echo'
    await this.#begin(requireModel(route.format, model), request.signal)
    const context = { route, fields, seed, createdSeconds: this.#nowSeconds(), origin: url.origin }
    const { body, contentType } = this.#operate(context)
    return typeof body !== 'string' && 'read' in body
      ? this.#sender.film(body, contentType, request, seed)
      : this.#sender.atOnce(body, 200, seed, { 'content-type': contentType })
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.now() / 1000)
  }
}

/** What one generating or counting request needs on its way. */
interface Context extends Addressee {
  dialect: Dialect
  dialectRequest: DialectRequest
}

function contextOf(
  route: Extract<Route, { kind: 'generate' | 'count' }>,
  { request, url, body: bytes, seed }: Call,
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
  const steering = requireModel(route.format, model ?? '')
  return { dialect, dialectRequest, steering, seed, signal: request.signal }
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

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
