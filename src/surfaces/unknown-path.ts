import { GatewayError } from '@/errors/gateway-error.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'

/** Longer paths are cut in the message. */
const SHOWN_LENGTH = 100

/** What the message adds where the caller's base address is wrong in one of the usual ways. */
const HINTS: readonly [path: RegExp, hint: string][] = [
  [
    /^\/models\/.*:[A-Za-z]+$/,
    'the path begins with /v1beta, so the base address of this client of Gemini ends in it',
  ],
  [
    /^\/(?:chat\/completions|responses|messages|embeddings|models|images\/|audio\/|videos)/,
    "the path begins with /v1, so the base address of OpenAI's clients ends in it",
  ],
  [
    /^\/v1(?:beta|alpha)?\/v1(?:beta|alpha)?\//,
    'the version is in the path twice: the base address of this client ends without it',
  ],
  [
    /^\/v1\/(?:chat\/completions|responses|messages)\/(?:v1\/)?(?:chat\/completions|responses|messages|models)/,
    'two calls are in the path: the base address of this client ends in front of the first',
  ],
  [/\/\//, 'two slashes stand side by side in the path: the base address of this client ends without one'],
]

/**
 * The answer where nothing is served: in OpenAI's shape wherever the path lies, since no surface was called.
 * Anthropic's clients find the request's id in it, too.
 */
export function unknownPath(request: Request, requestId: string): Response {
  const { pathname } = new URL(request.url)
  const shown = pathname.length > SHOWN_LENGTH ? `${pathname.slice(0, SHOWN_LENGTH)}…` : pathname
  const hint = HINTS.find(([path]) => path.test(pathname))?.[1]
  const message = `Nothing is served at ${request.method} ${shown}${hint === undefined ? '' : `; ${hint}`}`
  const response = errorResponse(new GatewayError('unknown_path', message), requestId, undefined)
  if (request.headers.has('anthropic-version')) response.headers.set('request-id', requestId)
  return response
}
