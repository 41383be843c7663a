/**
 * The service tiers that can have prices of their own, by their keys in tollgate.yaml. Each is served for another price
 * than what goes without saying: `priority` (which OpenAI calls `fast`, too) and `ultrafast` are dearer, `flex` is
 * cheaper, and `fast` is what Anthropic's `speed` asks for.
 */
export const SERVICE_TIERS = ['priority', 'flex', 'fast', 'ultrafast'] as const
/** A service tier that can have prices of its own. */
export type ServiceTier = (typeof SERVICE_TIERS)[number]

/** What a word for a tier means. */
export type TierWord =
  | ServiceTier
  /** The service that goes without saying. */
  | 'ordinary'
  /** None is named: it is for the vendor to say. */
  | 'open'
  /** One that has no name here: capacity that was bought ahead, a batch, a word of tomorrow. */
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
