import { Elysia } from 'elysia'
import type { Caller } from '@/accounts/account.ts'
import { isNameOf, modelNotFound, reaches } from '@/exchange/admission/admission.ts'
import { broughtAsGoogle } from '@/exchange/admission/credentials.ts'
import { attend } from '@/exchange/attendance.ts'
import type { Listener } from '@/exchange/call.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { VideoGateway } from '@/exchange/videos/store.ts'
import type { Model } from '@/routing/model.ts'
import { namesCall } from '@/surfaces/gemini/gemini.ts'
import { readOperationPath, showOperation } from '@/surfaces/gemini/videos.ts'
import { brokenPath, readPathText } from '@/surfaces/path-text.ts'
import { unknownPath } from '@/surfaces/unknown-path.ts'
import { geminiModel, geminiPage, openaiModel, openaiPage } from './model-list.ts'

type Shape = 'openai' | 'gemini'

/**
 * The model list, in one shape for OpenAI's and Anthropic's clients and in another for Google's: by the path where
 * it is Google's own, else by how the key came.
 */
export function models(gateway: VideoGateway, listener: Listener) {
  const list = (request: Request) =>
    respond(gateway, listener, request, (models, shape, query) =>
      shape === 'gemini' ? geminiPage(models, query) : openaiPage(models, query),
    )
  const one = (request: Request, rest: string) =>
    respond(gateway, listener, request, (models, shape) => {
      const model = findModel(models, rest)
      return shape === 'gemini' ? geminiModel(model) : openaiModel(model)
    })
  const app = new Elysia({ name: 'models' })
  for (const version of ['/v1', '/v1beta', '/v1alpha']) {
    app.get(`${version}/models`, ({ request }) => list(request))
    app.get(`${version}/models/*`, ({ request, params: { '*': rest } }) => {
      if (rest === '' || namesCall(gateway, request, rest))
        return unknownPath(request, gateway.newRequestId())
      const operation = readOperationPath(rest)
      return operation === undefined
        ? one(request, rest)
        : showOperation(gateway, listener, request, operation)
    })
  }
  return app
}

function respond(
  gateway: Gateway,
  listener: Listener,
  request: Request,
  read: (models: readonly Model[], shape: Shape, query: URLSearchParams) => object,
): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  const isGoogle = !pathname.startsWith('/v1/') || broughtAsGoogle(request, searchParams)
  const surface = clientSurface(request, isGoogle)
  return attend(gateway, { request, listener, surface }, ({ caller }) =>
    read(visibleModels(gateway, caller), isGoogle ? 'gemini' : 'openai', searchParams),
  )
}

/** Clients of the three vendors share the path: whose headers and errors an answer has follows whose client it is. */
function clientSurface(request: Request, isGoogle: boolean): 'gemini' | 'messages' | 'chat' {
  if (isGoogle) return 'gemini'
  return request.headers.has('anthropic-version') ? 'messages' : 'chat'
}

function visibleModels(gateway: Gateway, caller: Caller): Model[] {
  return gateway.catalog.list().filter(model => reaches(caller, model))
}

function findModel(models: readonly Model[], rest: string): Model {
  const name = readPathText(rest)
  if (name === undefined) throw brokenPath()
  const model = models.find(each => isNameOf(each, name))
  if (model === undefined) throw modelNotFound(name)
  return model
}
