import type { Format } from '@/generation/format.ts'
import { type Rates, ratesIn } from '@/generation/rates.ts'
import { isServiceTier, readServiceTier, type ServiceTier, type TierWord } from '@/generation/service-tier.ts'
import { asString, type JsonObject } from '@/json/json.ts'

/** Service tiers with prices of their own: which of them a request may be served in, and which it was. */

/** Which tier a request of this format asks for, in its words; undefined: none. */
export function askedTier(format: Format, body: JsonObject): string | undefined {
  switch (format) {
    case 'openai-chat-completions':
    case 'openai-responses':
      return asString(body['service_tier'])
    case 'anthropic-messages':
      return body['speed'] === 'fast' ? 'fast' : asString(body['service_tier'])
    case 'gemini-generate-content':
      return asString(body['serviceTier'] ?? body['service_tier'])
    default:
      return format satisfies never
  }
}

/**
 * The tiers that a request may be served in beside the ordinary one. Who asks for none, or for `auto`, gets what the
 * operator's project has at the vendor (OpenAI), what is left of a commitment (Anthropic) or what there is room in
 * (Groq). Fast modes are served to nobody who did not ask for one, and a vendor that lacks one serves the next best.
 */
const SERVABLE: Readonly<Record<TierWord, readonly ServiceTier[]>> = {
  ordinary: [],
  flex: ['flex'],
  priority: ['priority'],
  fast: ['fast', 'priority', 'flex'],
  ultrafast: ['ultrafast', 'fast', 'priority'],
  open: ['priority', 'flex'],
  other: ['priority', 'flex'],
}

/**
 * All rates that a request may be charged by, the model's own first.
 * @param servers formats of the upstreams that may serve it
 */
export function ratesInReach(
  rates: Rates,
  format: Format,
  body: JsonObject,
  servers: () => readonly Format[],
): readonly Rates[] {
  if (rates.serviceTiers.size === 0) return [rates]
  const asked = readServiceTier(askedTier(format, body))
  const formats = servers()
  const tiers = SERVABLE[asked].flatMap(tier => formats.map(servedBy => pricedTier(rates, tier, servedBy)))
  return [rates, ...new Set(tiers.map(tier => ratesIn(rates, tier)))]
}

/** What an upstream was asked for. */
export interface AskedUpstream {
  format: Format
  /** In its words; undefined: none. */
  tier: string | undefined
}

/**
 * The tier by whose prices an answer is charged: the one that the upstream says served it; where it says none, or leaves
 * it open, the one that it was asked for. Undefined where that has no prices of its own.
 */
export function chargedTier(
  rates: Rates,
  served: string | undefined,
  asked: () => AskedUpstream | undefined,
): ServiceTier | undefined {
  if (rates.serviceTiers.size === 0) return undefined
  const upstream = asked()
  const said = readServiceTier(served)
  const tier = said === 'open' ? readServiceTier(upstream?.tier) : said
  return isServiceTier(tier) ? pricedTier(rates, tier, upstream?.format) : undefined
}

/**
 * The tier whose prices a tier has. OpenAI calls the priority tier `fast`, too, so whichever of the two an operator named
 * is meant. Anthropic's are two: who is served from capacity that was bought ahead did not ask for its fast mode.
 */
function pricedTier(
  { serviceTiers }: Rates,
  tier: ServiceTier,
  servedBy: Format | undefined,
): ServiceTier | undefined {
  if (serviceTiers.has(tier)) return tier
  if (tier === 'fast' && serviceTiers.has('priority')) return 'priority'
  const isOpenAi = servedBy === 'openai-chat-completions' || servedBy === 'openai-responses'
  return tier === 'priority' && isOpenAi && serviceTiers.has('fast') ? 'fast' : undefined
}
