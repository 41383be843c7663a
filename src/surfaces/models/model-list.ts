import { invalidRequest } from '@/formats/invalid.ts'
import { declareRates } from '@/generation/rate-text.ts'
import type { Surface } from '@/generation/surface.ts'
import { surfacesPriced } from '@/pricing/coverage.ts'
import type { Model } from '@/routing/model.ts'
import { readCount } from '@/surfaces/page-query.ts'

/** A model for OpenAI's and Anthropic's clients at once: their fields do not collide. */
export function openaiModel(model: Model) {
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt.getTime() / 1000),
    owned_by: model.ownedBy,
    type: 'model',
    display_name: model.displayName,
    created_at: model.createdAt.toISOString(),
    aliases: model.aliases,
    max_input_tokens: model.contextTokens ?? null,
    max_tokens: model.maxOutputTokens ?? null,
    ...UNTOLD,
    ...extras(model),
  }
}

/** What Anthropic's clients expect of a model and nobody here knows. */
const UNTOLD = { capabilities: null, lifecycle: 'active', line: null, deprecated_at: null, retires_at: null }

/** Fields of our own, in every shape. */
function extras(model: Model) {
  const { price } = model
  return {
    surfaces: surfacesOf(model),
    prices: price === undefined ? null : declareRates(price.rates),
  }
}

/** Where a model is offered: as the operator says, else as its prices tell. Google's own paths to those are on its surface. */
function surfacesOf({ surfaces, price }: Model): readonly Surface[] {
  if (surfaces !== undefined) return surfaces
  const priced = price === undefined ? [] : surfacesPriced(price.rates)
  return [...new Set(priced.flatMap(name => (GOOGLE_TOO.has(name) ? (['gemini', name] as const) : [name])))]
}

/** What has actions of its own at Google, beside the conversation. */
const GOOGLE_TOO: ReadonlySet<Surface> = new Set(['embeddings', 'images', 'videos'])

/** A page by Anthropic's parameters (`limit`, `after_id`, `before_id`) or OpenAI's (`limit`, `after`); all if none is asked for. */
export function openaiPage(models: readonly Model[], query: URLSearchParams) {
  const after = readPlace(models, query, query.get('after_id') ? 'after_id' : 'after')
  const before = readPlace(models, query, 'before_id')
  const window = models.slice(after === undefined ? 0 : after + 1, before)
  const limit = readCount(query, 'limit', window.length)
  // Before an id the page is the one that ends there, after one (or at the start) the one that begins there.
  const page =
    before === undefined ? window.slice(0, limit) : window.slice(Math.max(0, window.length - limit))
  return {
    object: 'list',
    data: page.map(openaiModel),
    has_more: page.length < window.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

/** A model for Google's clients. */
export function geminiModel(model: Model) {
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: '001',
    displayName: model.displayName,
    description: `${model.displayName} by ${model.ownedBy}`,
    ...(model.contextTokens === undefined ? {} : { inputTokenLimit: model.contextTokens }),
    ...(model.maxOutputTokens === undefined ? {} : { outputTokenLimit: model.maxOutputTokens }),
    supportedGenerationMethods: methodsOf(model),
    aliases: model.aliases,
    ...extras(model),
  }
}

const CONVERSES = ['generateContent', 'streamGenerateContent', 'countTokens'] as const

const CONVERSATIONS: ReadonlySet<Surface> = new Set(['chat', 'responses', 'messages'])

/** What Google's clients may call a model by. */
function methodsOf(model: Model): readonly string[] {
  const surfaces = surfacesOf(model)
  const methods: string[] = []
  if (surfaces.some(surface => CONVERSATIONS.has(surface))) methods.push(...CONVERSES)
  if (surfaces.includes('embeddings')) methods.push('embedContent', 'batchEmbedContents')
  if (surfaces.includes('images')) methods.push('predict')
  if (surfaces.includes('videos')) methods.push('predictLongRunning')
  // A model that is offered to Google's clients alone converses with them.
  return methods.length > 0 ? methods : CONVERSES
}

/**
 * A page by Google's parameters: `pageSize`, and `pageToken`, which is the id that the last page ended with. Like all of
 * its APIs, Google's reads them in either spelling, and a size of 0 as none: https://google.aip.dev/158.
 */
export function geminiPage(models: readonly Model[], query: URLSearchParams) {
  const after = readPlace(models, query, query.has('pageToken') ? 'pageToken' : 'page_token')
  const window = models.slice(after === undefined ? 0 : after + 1)
  const size = query.has('pageSize') ? 'pageSize' : 'page_size'
  const page = window.slice(
    0,
    query.get(size) === '0' ? window.length : readCount(query, size, window.length),
  )
  const last = page.at(-1)
  return {
    models: page.map(geminiModel),
    ...(page.length < window.length && last !== undefined ? { nextPageToken: last.id } : {}),
  }
}

/**
 * Where the model that a cursor names stands; undefined without one. A cursor that names none is refused: an empty page
 * would look like the end of the list.
 */
function readPlace(models: readonly Model[], query: URLSearchParams, name: string): number | undefined {
  const id = query.get(name)
  if (id === null || id === '') return undefined
  const place = models.findIndex(model => model.id === id)
  if (place < 0) throw invalidRequest(name, 'expected where a page of this list ended')
  return place
}
