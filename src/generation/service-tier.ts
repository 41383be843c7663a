/**
 * The service tiers that can have prices of their own, by their keys in tollgate.yaml. At their vendors `priority` (which
 * OpenAI calls `fast`, too) and `ultrafast` cost more than the ordinary service, `flex` costs less, and `fast` is what
 * Anthropic's `speed` asks for.
 */
export const SERVICE_TIERS = ['priority', 'flex', 'fast', 'ultrafast'] as const
/** A service tier that can have prices of its own. */
export type ServiceTier = (typeof SERVICE_TIERS)[number]

/** What a word for a tier means. */
export type TierWord =
  | ServiceTier
  /** The vendor's ordinary service. */
  | 'ordinary'
  /** None is named, so the vendor decides. */
  | 'open'
  /** Any other: capacity that was bought ahead, a batch, a tier that is not known here. */
  | 'other'

const ORDINARY: ReadonlySet<string> = new Set(['default', 'standard', 'standard_only', 'on_demand'])
const OPEN: ReadonlySet<string> = new Set([
  '',
  'auto',
  'unspecified',
  'service_tier_unspecified',
  'traffic_type_unspecified',
])

/** What a caller or a vendor means, whichever format's word it is; undefined is no word. */
export function readServiceTier(word: string | undefined): TierWord {
  const name = word?.toLowerCase() ?? ''
  if (OPEN.has(name)) return 'open'
  if (ORDINARY.has(name)) return 'ordinary'
  const plain = name.replace(/^on_demand_/, '')
  return SERVICE_TIERS.find(tier => tier === plain) ?? 'other'
}

/** Whether a word means a tier that can have prices of its own. */
export function isServiceTier(word: TierWord): word is ServiceTier {
  return word !== 'ordinary' && word !== 'open' && word !== 'other'
}
