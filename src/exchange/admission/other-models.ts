import type { Caller } from '@/accounts/account.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import type { Catalog } from '@/routing/model.ts'
import { modelNotFound, reaches } from './admission.ts'
import { outlineOf, textsOf } from './body.ts'
import type { Prompt } from './prompt.ts'

/**
 * Whether the caller may use the models that a request names beside its own, which a vendor would run for it: Anthropic's
 * adviser, and what OpenRouter falls back to. They are named as callers do or as upstreams do.
 * @throws GatewayError `model_not_found`
 */
export function admitOtherModels(catalog: Catalog, caller: Caller, prompt: Prompt): void {
  const texts = textsOf(prompt.body)
  for (const named of namedIn(outlineOf(prompt.body), prompt)) {
    const name = texts.whole(named)
    if (name !== prompt.model && !isReached(catalog, caller, name)) throw modelNotFound(name)
  }
}

function namedIn(body: JsonObject, { format }: Prompt): string[] {
  switch (format) {
    case 'anthropic-messages':
      return asArray(body['tools']).flatMap(tool => advisedBy(asObject(tool) ?? {}))
    case 'openai-chat-completions':
      return asArray(body['models']).flatMap(name => asString(name) ?? [])
    default:
      return []
  }
}

function advisedBy({ type, model }: JsonObject): string[] {
  return typeof model === 'string' && asString(type)?.startsWith('advisor') === true ? [model] : []
}

function isReached(catalog: Catalog, caller: Caller, name: string): boolean {
  const found = catalog.find(name)
  if (found !== undefined && reaches(caller, found)) return true
  return catalog
    .list()
    .some(model => reaches(caller, model) && model.routes.some(({ upstreamModel }) => upstreamModel === name))
}
