import { Elysia } from 'elysia'
import { GatewayError } from '@/errors/gateway-error.ts'
import { outlineOf, type RequestBody, readGoogleBody } from '@/exchange/admission/body.ts'
import type { CallFacts, Listener } from '@/exchange/call.ts'
import { countTokens } from '@/exchange/count-tokens.ts'
import { runExchange, runOperation } from '@/exchange/exchange.ts'
import { embeddingOperation } from '@/exchange/operations/embeddings.ts'
import type { Operation } from '@/exchange/operations/operation.ts'
import { predictionOperation } from '@/exchange/operations/predictions.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'
import type { VideoGateway } from '@/exchange/videos/store.ts'
import { videoOperation } from '@/exchange/videos/videos.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { isJsonObject } from '@/json/json.ts'
import { brokenPath, readPathText } from '@/surfaces/path-text.ts'
import { unknownPath } from '@/surfaces/unknown-path.ts'
import { originOf } from '@/surfaces/videos.ts'
import { downloadFile } from './videos.ts'

/** Google's SDK 3 and later says `/v1`, the ones before it `/v1beta`, and some callers `/v1alpha`. */
const VERSIONS = ['/v1', '/v1beta', '/v1alpha'] as const

/** What Google keeps models in that are none of an operator's. */
const GOOGLES_OWN = /^(?:tunedModels|dynamic|projects|publishers)\//

/**
 * Gemini's native surface: POST {version}/models/{model}:{action}. For a model whose name holds a slash the AI SDK
 * leaves `models/` out, since it takes the name for a resource of Google's; `/v1` has paths of others, so there it is needed.
 */
export function gemini(gateway: VideoGateway, listener: Listener) {
  const app = new Elysia({ name: 'gemini' })
  for (const version of VERSIONS) {
    app.post(
      `${version}/models/*`,
      ({ request, params }) => answer(gateway, listener, request, params['*']),
      { parse: 'none' },
    )
    if (version !== '/v1') {
      app.post(
        `${version}/*`,
        ({ request, params }) =>
          params['*'].includes('/') && !GOOGLES_OWN.test(params['*'])
            ? answer(gateway, listener, request, params['*'])
            : unknownPath(request, gateway.newRequestId()),
        { parse: 'none' },
      )
    }
    app.get(`${version}/files/*`, ({ request, params }) =>
      downloadFile(gateway, listener, request, params['*']),
    )
  }
  return app
}

function answer(
  gateway: VideoGateway,
  listener: Listener,
  request: Request,
  rest: string,
): Response | Promise<Response> {
  const action = readAction(gateway, request, rest)
  if (action === undefined) return unknownPath(request, gateway.newRequestId())
  if (action instanceof GatewayError) return errorResponse(action, gateway.newRequestId(), 'gemini')
  const call = { request, listener, surface: 'gemini' } as const
  return 'run' in action
    ? action.run(gateway, { ...call, readCall: action.readCall })
    : runOperation(gateway, {
        ...call,
        read: async (incoming, terms) => action.operation(await readGoogleBody(incoming, terms)),
      })
}

type Action =
  | { readCall: (body: RequestBody) => CallFacts; run: typeof runExchange }
  /** What is no conversation. */
  | { operation: (body: RequestBody) => Operation }

/** Whether a path below `models/` names a call, which is made by POST alone, and no model. */
export function namesCall(gateway: VideoGateway, request: Request, rest: string): boolean {
  const action = readAction(gateway, request, rest)
  return action !== undefined && !(action instanceof GatewayError)
}

/** The call that a path names; undefined if it names none, or why it cannot be read. The model may hold slashes and colons: the last colon divides. */
function readAction(
  gateway: VideoGateway,
  request: Request,
  rest: string,
): Action | GatewayError | undefined {
  const query = new URL(request.url).searchParams
  const path = readPathText(rest)
  if (path === undefined) return brokenPath()
  const colon = path.lastIndexOf(':')
  const model = path.slice(0, Math.max(colon, 0))
  if (model === '') return undefined
  const action = path.slice(colon + 1)
  switch (action) {
    case 'generateContent':
      return { readCall: readGeneration({ model, stream: false, framing: 'sse' }), run: runExchange }
    case 'streamGenerateContent': {
      const framing = streamsEvents(query) ? 'sse' : 'json-array'
      return { readCall: readGeneration({ model, stream: true, framing }), run: runExchange }
    }
    case 'countTokens':
      return { readCall: () => ({ model, stream: false, framing: 'sse' }), run: countTokens }
    case 'embedContent':
    case 'batchEmbedContents':
      return { operation: body => embeddingOperation({ body, model, action }) }
    case 'predict':
      return { operation: body => predictionOperation(body, model) }
    case 'predictLongRunning': {
      const order = {
        gateway,
        dialect: 'gemini',
        model,
        origin: originOf(gateway, request),
      } as const
      return { operation: body => videoOperation({ ...order, body }) }
    }
    default:
      return undefined
  }
}

/** Whether the query asks for events, by either name: https://docs.cloud.google.com/apis/docs/system-parameters */
function streamsEvents(query: URLSearchParams): boolean {
  const [form] = (query.get('alt') ?? query.get('$alt') ?? '').split(';')
  return form === 'sse'
}

/**
 * Reads the call that a path names: without `contents` there is nothing to answer, whoever is asked. Google takes one
 * element for a list of one.
 */
function readGeneration(call: CallFacts): (body: RequestBody) => CallFacts {
  return body => {
    const { contents } = outlineOf(body)
    if (Array.isArray(contents) || isJsonObject(contents)) return call
    throw invalidRequest('contents', 'expected a list of contents')
  }
}
