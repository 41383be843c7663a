import { perMillion, perUnit } from '@/generation/rate-text.ts'
import {
  type Rates,
  ratesIn,
  TOKEN_RATE_NAMES,
  type TokenRateName,
  tokenRatesFor,
} from '@/generation/rates.ts'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'

/** A rate that changed by more than a factor of two, up or down: more often a slip than a decision. */
export interface PriceJump {
  model: string
  /** The name in tollgate.yaml's `prices`, with the tier or the size if it has one. */
  rate: string
  /** In the units of tollgate.yaml. */
  from: string
  to: string
  /** False: the old price stays in force until the operator's file states the new one. */
  applied: boolean
}

/** The jumps from one price of a model to another; fall-backs and tiers are compared as they would be charged. */
export function findJumps(before: Rates, after: Rates): Omit<PriceJump, 'model' | 'applied'>[] {
  const names = TOKEN_RATE_NAMES.filter(name => isDeclared(before, name) || isDeclared(after, name))
  return [
    ...tokenJumps(before, after, names),
    ...serviceTierJumps(before, after),
    ...jump('per_request', before.perRequest ?? 0n, after.perRequest ?? 0n, perUnit),
    ...imageJumps(before, after),
    ...jump('per_video_second', before.perVideoSecond ?? 0n, after.perVideoSecond ?? 0n, perUnit),
    ...jump('per_audio_second', before.perAudioSecond ?? 0n, after.perAudioSecond ?? 0n, perUnit),
    ...jump('per_million_characters', before.perCharacter ?? 0n, after.perCharacter ?? 0n, perMillion),
  ]
}

/** One line for a person. */
export function describeJump({ model, rate, from, to, applied }: PriceJump): string {
  const change = `the price of ${model} (${rate}) jumps from ${from} to ${to}`
  return applied ? change : `${change}; not applied: state it in tollgate.yaml if it is right`
}

function tokenJumps(before: Rates, after: Rates, names: readonly TokenRateName[]) {
  const thresholds = [...before.tiers, ...after.tiers].map(tier => tier.aboveInputTokens)
  const base = jumpsAt(before, after, names, 0n, '')
  const told = new Set(base.map(({ rate, from, to }) => JSON.stringify([rate, from, to])))
  const inTiers = [...new Set(thresholds)].flatMap(above =>
    jumpsAt(before, after, names, above + 1n, ` above ${above} input tokens`).filter(
      // A tier that does not name the rate moves with the base: told once.
      ({ name, from, to }) => !told.has(JSON.stringify([name, from, to])),
    ),
  )
  return [...base, ...inTiers].map(({ rate, from, to }) => ({ rate, from, to }))
}

/** Those of tokens in a service tier that do not come of the model's own prices. */
function serviceTierJumps(before: Rates, after: Rates) {
  const names = TOKEN_RATE_NAMES.filter(name => isDeclared(before, name) || isDeclared(after, name))
  const known = new Set(tokenJumps(before, after, names).map(jump => JSON.stringify(jump)))
  return SERVICE_TIERS.flatMap(tier => {
    const [old, now] = [ratesIn(before, tier), ratesIn(after, tier)]
    if (old === before && now === after) return []
    const own = TOKEN_RATE_NAMES.filter(name => isDeclared(old, name) || isDeclared(now, name))
    return tokenJumps(old, now, own)
      .filter(jump => !known.has(JSON.stringify(jump)))
      .map(jump => ({ ...jump, rate: `${jump.rate} in ${tier}` }))
  })
}

function jumpsAt(
  before: Rates,
  after: Rates,
  names: readonly TokenRateName[],
  length: bigint,
  where: string,
) {
  const old = tokenRatesFor(before, length)
  const now = tokenRatesFor(after, length)
  return names.flatMap(name =>
    jump(`${name}${where}`, old[name], now[name], perMillion).map(found => ({ ...found, name })),
  )
}

function imageJumps(before: Rates, after: Rates) {
  const sizes = new Set([...before.perImage.keys(), ...after.perImage.keys()])
  const rateOf = ({ perImage }: Rates, size: string) => perImage.get(size) ?? perImage.get('default') ?? 0n
  return [...sizes].flatMap(size =>
    jump(`per_image ${size}`, rateOf(before, size), rateOf(after, size), perUnit),
  )
}

function jump(rate: string, from: bigint, to: bigint, text: (pico: bigint) => string) {
  return to > 2n * from || from > 2n * to ? [{ rate, from: text(from), to: text(to) }] : []
}

function isDeclared({ tokens, tiers }: Rates, name: TokenRateName): boolean {
  return tokens[name] !== undefined || tiers.some(tier => tier.tokens[name] !== undefined)
}
