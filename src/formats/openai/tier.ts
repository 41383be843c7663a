/** The tier that an answer was served in, as OpenAI's two formats spell it: what others call `standard` is `default`. */
export function openaiTier(tier: string | undefined): { service_tier?: string } {
  if (tier === undefined) return {}
  return { service_tier: tier === 'standard' ? 'default' : tier }
}
