import type { ChannelEntry, ModelEntry } from '@/config/entries.ts'
import type { StoredChannel, StoredModel } from '@/routing/catalog/store.ts'
import type { BreakerView } from '@/routing/health/breaker.ts'
import type { ChannelHealth } from '@/routing/health/health.ts'
import type { Channel, Model } from '../api/contract/admin-catalog.ts'
import { planRow } from './price-rows.ts'

/** What stands in the place of a header's value that may be a secret; sent back, it means the value that is there. */
export const HIDDEN = '********'

const SECRET_HEADER = /auth|key|token|secret|cookie|password|signature/i

/** A channel as administrators see it: its keys by their last characters. */
export function channelRow(
  stored: StoredChannel,
  health: ChannelHealth | undefined,
  models: readonly string[],
): Channel {
  return {
    ...channelFields(stored),
    name: stored.name,
    api_keys: stored.keyIds.map((id, index) => {
      const key = health?.keys.find(({ keyId }) => keyId === id)
      return {
        id,
        hint: hintOf(stored.apiKeys[index] ?? ''),
        breaker: breakerRow(key?.breaker),
        paused_models: (key?.pausedModels ?? []).map(({ model, breaker }) => ({
          model,
          breaker: breakerRow(breaker),
        })),
      }
    }),
    health: {
      breaker: breakerRow(health?.breaker),
      first_byte_ms: health?.firstByteMs === undefined ? null : Math.round(health.firstByteMs),
    },
    models: [...models],
    revision: stored.revision,
  }
}

/** What a channel is, but for its name and its keys; headers that may be secret are hidden. */
export function channelFields(entry: ChannelEntry) {
  return {
    format: entry.format,
    base_url: entry.baseUrl,
    priority: entry.priority,
    weight: entry.weight,
    headers: shownHeaders(entry.headers),
    timeouts: timeoutsRow(entry),
    max_concurrent: entry.maxConcurrent ?? null,
    function_tools_only: entry.functionToolsOnly,
    think_tags: entry.thinkTags ?? null,
    reasoning_field: entry.reasoningField ?? null,
    cache_prompts: entry.cachePrompts,
    allow_private: entry.allowPrivate,
  }
}

/** A model as the API shows it; `priceVersion` is the one in force. */
export function modelRow(stored: StoredModel, priceVersion: bigint | undefined, now: Date): Model {
  return {
    ...modelFields(stored),
    id: stored.id,
    prices: planRow(stored.prices, now),
    price_version: priceVersion?.toString() ?? null,
    created_at: stored.createdAt.toISOString(),
    revision: stored.revision,
  }
}

/** What a model is, but for its id and its prices. */
export function modelFields(entry: ModelEntry) {
  return {
    aliases: [...entry.aliases],
    display_name: entry.displayName,
    owned_by: entry.ownedBy,
    channels: entry.routes.map(({ channel, upstreamModel, priority, weight }) => ({
      channel,
      model: upstreamModel,
      priority,
      weight,
    })),
    surfaces: entry.surfaces === undefined ? null : [...entry.surfaces],
    enabled_by_default: entry.enabledByDefault,
    context_tokens: entry.contextTokens ?? null,
    max_output_tokens: entry.maxOutputTokens ?? null,
  }
}

/** The last four characters of a key that is long enough not to be given away by them. */
export function hintOf(key: string): string | null {
  return key.length < 16 ? null : `...${key.slice(-4)}`
}

function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADER.test(name) ? HIDDEN : value]),
  )
}

function timeoutsRow({ timeouts }: Pick<ChannelEntry, 'timeouts'>): Channel['timeouts'] {
  const { connectMs, firstByteMs, idleMs } = timeouts
  return {
    ...(connectMs === undefined ? {} : { connect_ms: connectMs }),
    ...(firstByteMs === undefined ? {} : { first_byte_ms: firstByteMs }),
    ...(idleMs === undefined ? {} : { idle_ms: idleMs }),
  }
}

function breakerRow(view: BreakerView | undefined): Channel['health']['breaker'] {
  return {
    state: view?.state ?? 'closed',
    cause: view?.cause ?? null,
    reason: view?.reason ?? null,
    until: view?.until === undefined ? null : new Date(view.until).toISOString(),
    succeeded: view?.succeeded ?? 0,
    failed: view?.failed ?? 0,
  }
}
