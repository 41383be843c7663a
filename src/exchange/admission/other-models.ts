import type { Caller } from '@/accounts/account.ts'
import { asArray, asObject, asString, isJsonObject, type JsonObject } from '@/json/json.ts'
import type { Catalog } from '@/routing/model.ts'
import { modelNotFound, reaches } from './admission.ts'
import { outlineOf, textsOf } from './body.ts'
import type { Prompt } from './prompt.ts'
import { refuseOtherSpellings } from './spellings.ts'

/**
 * Whether the caller may use the models that a request names beside its own, which a vendor would run for it. They are
 * named as callers do or as upstreams do.
 * @throws GatewayError `model_not_found`
 */
export function admitOtherModels(
  catalog: Catalog,
  caller: Caller,
  { model, otherModels = [] }: { model: string; otherModels?: readonly string[] },
): void {
  // A list may name one model a million times.
  for (const name of new Set(otherModels)) {
    if (name !== model && !isReached(catalog, caller, name)) throw modelNotFound(name)
  }
}

/**
 * The models that a conversation names beside its own: what a vendor falls back to, Anthropic's adviser, and who writes
 * OpenAI's SVGs.
 * @throws GatewayError `invalid_request`
 */
export function otherModelsOf(prompt: Prompt): readonly string[] {
  const texts = textsOf(prompt.body)
  return namedIn(outlineOf(prompt.body), prompt).map(name => texts.whole(name))
}

function namedIn(body: JsonObject, { format }: Prompt): string[] {
  switch (format) {
    case 'anthropic-messages':
      return [
        ...fallbacksOf(body),
        ...asArray(body['tools']).flatMap(tool => advisedBy(asObject(tool) ?? {})),
      ]
    case 'openai-chat-completions':
      return fallbacksOf(body)
    case 'openai-responses':
      return [
        ...fallbacksOf(body),
        ...asArray(body['tools']).flatMap(tool => modelIn(asObject(asObject(tool)?.['svg']) ?? {})),
      ]
    case 'gemini-generate-content':
      return []
  }
}

/** By whose name for it: OpenRouter's `models`, LiteLLM's `fallbacks`, Anthropic's, whose entries are objects. */
function fallbacksOf(body: JsonObject): string[] {
  return [...asArray(body['models']), ...asArray(body['fallbacks'])].flatMap(each =>
    isJsonObject(each) ? modelIn(each) : (asString(each) ?? []),
  )
}

function advisedBy(tool: JsonObject): string[] {
  return asString(tool['type'])?.startsWith('advisor') === true ? modelIn(tool) : []
}

const MODEL: ReadonlySet<string> = new Set(['model'])

/**
 * The model that a part of a body names, as a list of one.
 * @throws GatewayError `invalid_request`
 */
export function modelIn(holder: JsonObject): string[] {
  refuseOtherSpellings(holder, MODEL)
  const model = asString(holder['model'])
  return model === undefined ? [] : [model]
}

function isReached(catalog: Catalog, caller: Caller, name: string): boolean {
  const found = catalog.find(name)
  if (found !== undefined && reaches(caller, found)) return true
  return catalog
    .list()
    .some(model => reaches(caller, model) && model.routes.some(({ upstreamModel }) => upstreamModel === name))
}
