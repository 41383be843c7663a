import type { Format } from '@/generation/format.ts'
import { type OperationRoute, operationRoute } from '@/simulator/operations/route.ts'

/** What a path and method ask for. */
export type Route =
  | { kind: 'generate'; format: Format; pathModel: string; pathStreams: boolean }
  | { kind: 'count'; format: Format; pathModel: string }
  | { kind: 'list'; format: Format; model: string | undefined }
  | OperationRoute

/** Finds the route; undefined is a 404. The vendor of the shared model lists is told by the headers, as real gateways do. */
export function routeOf(method: string, url: URL, headers: Headers): Route | undefined {
  const path = url.pathname
  const operation = operationRoute(method, decoded(path))
  if (operation !== undefined) return operation
  if (method === 'GET' || method === 'HEAD') return listRoute(path, url.searchParams, headers)
  if (method !== 'POST') return undefined
  switch (path) {
    case '/v1/chat/completions':
      return { kind: 'generate', format: 'openai-chat-completions', pathModel: '', pathStreams: false }
    case '/v1/responses':
      return { kind: 'generate', format: 'openai-responses', pathModel: '', pathStreams: false }
    case '/v1/responses/input_tokens':
      return { kind: 'count', format: 'openai-responses', pathModel: '' }
    case '/v1/messages':
      return { kind: 'generate', format: 'anthropic-messages', pathModel: '', pathStreams: false }
    case '/v1/messages/count_tokens':
      return { kind: 'count', format: 'anthropic-messages', pathModel: '' }
    default:
      return geminiRoute(path)
  }
}

/** The vendor whose error shape fits a path that leads nowhere. */
export function formatOfPath(path: string): Format {
  if (path.startsWith('/v1beta') || path.startsWith('/v1alpha') || /^\/v1\/models\/.*:/.test(path))
    return 'gemini-generate-content'
  if (path.startsWith('/v1/messages')) return 'anthropic-messages'
  return path.startsWith('/v1/responses') ? 'openai-responses' : 'openai-chat-completions'
}

function geminiRoute(path: string): Route | undefined {
  const match = /^\/(?:v1|v1beta|v1alpha)\/(?:models|tunedModels)\/(.+):(\w+)$/.exec(decoded(path))
  const [, pathModel = '', action] = match ?? []
  const format = 'gemini-generate-content'
  switch (action) {
    case 'generateContent':
      return { kind: 'generate', format, pathModel, pathStreams: false }
    case 'streamGenerateContent':
      return { kind: 'generate', format, pathModel, pathStreams: true }
    case 'countTokens':
      return { kind: 'count', format, pathModel }
    default:
      return undefined
  }
}

function listRoute(path: string, query: URLSearchParams, headers: Headers): Route | undefined {
  const match = /^\/(v1|v1beta|v1alpha)\/models(?:\/(.+))?$/.exec(decoded(path))
  if (match === null) return undefined
  return { kind: 'list', format: listFormat(match[1] ?? '', query, headers), model: match[2] }
}

function listFormat(version: string, query: URLSearchParams, headers: Headers): Format {
  if (version !== 'v1' || headers.has('x-goog-api-key') || query.has('key')) return 'gemini-generate-content'
  return headers.has('anthropic-version') || headers.has('x-api-key')
    ? 'anthropic-messages'
    : 'openai-chat-completions'
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
