import type { Channel, Model } from '../../api/contract/admin-catalog.ts'
import { wrong } from '../api/failure.ts'
import { readList } from './number.ts'
import { type PriceTexts, readPriceTexts } from './price-texts.ts'
import { optionalCount, typedInteger, typedText } from './typed.ts'

/** One way to serve a model as people type it. */
export interface RouteTexts {
  channel: string
  model: string
  priority: string
  weight: string
}

/** A model as people type it, by the names of the API, beside its routes and prices. */
interface ModelTexts {
  id: string
  display_name: string
  owned_by: string
  aliases: string
  context_tokens: string
  max_output_tokens: string
  enabled_by_default: boolean
}

/** What a form begins with: the model as it is, or the defaults of a new one. */
export function modelTexts(model: Model | undefined): ModelTexts {
  return {
    id: model?.id ?? '',
    display_name: model?.display_name ?? '',
    owned_by: model?.owned_by ?? '',
    aliases: model?.aliases.join(', ') ?? '',
    context_tokens: model?.context_tokens?.toString() ?? '',
    max_output_tokens: model?.max_output_tokens?.toString() ?? '',
    enabled_by_default: model?.enabled_by_default ?? true,
  }
}

/** What a form begins with: the routes of the model, or one on the first channel. */
export function routeTexts(model: Model | undefined, channels: readonly Channel[]): RouteTexts[] {
  const first = { channel: channels[0]?.name ?? '', model: '', priority: '0', weight: '1' }
  return (
    model?.channels.map(route => ({
      channel: route.channel,
      model: route.model,
      priority: String(route.priority),
      weight: String(route.weight),
    })) ?? [first]
  )
}

/**
 * A model as the server wants it; `model` is the one that is changed.
 * @throws ApiFailure naming the field that cannot be read
 */
export function readModelTexts(
  texts: ModelTexts,
  routes: readonly RouteTexts[],
  prices: PriceTexts,
  model: Model | undefined,
) {
  if (model === undefined) typedText(texts.id, 'id', 'What do callers call it?')
  const read = readPriceTexts(prices)
  if ('field' in read) wrong(`prices.${read.field}`, read.message)
  return {
    aliases: readList(texts.aliases),
    display_name: texts.display_name.trim() || undefined,
    owned_by: texts.owned_by.trim() || undefined,
    channels: routes.map(route => ({
      channel: route.channel,
      model: route.model.trim() || undefined,
      priority: typedInteger(route.priority, 'channels', NOT_WHOLE),
      weight: typedInteger(route.weight, 'channels', NOT_WHOLE),
    })),
    surfaces: model?.surfaces ?? null,
    enabled_by_default: texts.enabled_by_default,
    context_tokens: optionalCount(texts.context_tokens, 'context_tokens') ?? null,
    max_output_tokens: optionalCount(texts.max_output_tokens, 'max_output_tokens') ?? null,
    prices: read.prices,
  }
}

const NOT_WHOLE = 'Priority and weight are whole numbers.'
