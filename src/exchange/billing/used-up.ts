import type { Extras } from '@/generation/extras.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import type { ServiceTier } from '@/generation/service-tier.ts'
import type { Usage } from '@/generation/usage.ts'

/** What an exchange has used, and how that is known. */
export interface UsedUp {
  usage: Usage
  /** What was used beside tokens; undefined: nothing. */
  extras?: Extras | undefined
  source: 'reported' | 'estimated'
  /** The service tier by whose prices it is charged; undefined: the model's own. */
  serviceTier?: ServiceTier | undefined
}

/** What a whole answer tells of its cost: the usage that it reports, or else all that it says. */
export type Told = { usage: Usage } | GenerationResponse
