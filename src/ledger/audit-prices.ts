import type { Extras } from '@/generation/extras.ts'
import type { Rates, TokenRateName } from '@/generation/rates.ts'
import type { Usage } from '@/generation/usage.ts'
import { FIRST_ID } from './audit-tables.ts'

/** All prompt tokens of an exchange `x`, which its tier goes by. */
const PROMPT = '(x.input_uncached + x.cache_read + x.cache_write5m + x.cache_write1h + x.audio_input)'

/** Tokens of an exchange `x`, and what they are charged at. Typed, as are those below, so that nothing with a price is forgotten here. */
const TOKENS = {
  inputUncached: { column: 'input_uncached', rate: 'input' },
  cacheRead: { column: 'cache_read', rate: 'cached_input' },
  cacheWrite5m: { column: 'cache_write5m', rate: 'cache_write_5m' },
  cacheWrite1h: { column: 'cache_write1h', rate: 'cache_write_1h' },
  audioInput: { column: 'audio_input', rate: 'input_audio' },
  outputText: { column: 'output_text', rate: 'output' },
  reasoning: { column: 'reasoning', rate: 'reasoning' },
  audioOutput: { column: 'audio_output', rate: 'output_audio' },
} as const satisfies Record<Exclude<keyof Usage, 'serverTools'>, { column: string; rate: TokenRateName }>

/** The rate of each kind of token in declared rates `d.r`: the first of these names that is there. */
const TOKEN_RATES = {
  input: ['input'],
  cached_input: ['cached_input', 'input'],
  cache_write_5m: ['cache_write_5m', 'input'],
  cache_write_1h: ['cache_write_1h', 'cache_write_5m', 'input'],
  output: ['output'],
  reasoning: ['reasoning', 'output'],
  input_audio: ['input_audio', 'input'],
  output_audio: ['output_audio', 'output'],
} as const satisfies Record<TokenRateName, readonly TokenRateName[]>

/** The other rates in `d.r`, each as columns of rates `p`. */
const OTHER_RATES = {
  perRequest: "coalesce((d.r->>'per_request')::numeric, 0) as per_request",
  perVideoSecond: "coalesce((d.r->>'per_video_second')::numeric, 0) as per_video_second",
  perAudioSecond: "coalesce((d.r->>'per_audio_second')::numeric, 0) as per_audio_second",
  perCharacter: "coalesce((d.r->>'per_million_characters')::numeric, 0) as per_character",
  perImage: `d.r->'per_image' as per_image, coalesce((d.r->'per_image'->>'default')::numeric,
    (select max(size.rate::numeric) from jsonb_each_text(d.r->'per_image') size(name, rate)), 0) as per_other_image`,
} as const satisfies Record<Exclude<keyof Rates, 'tokens' | 'tiers' | 'serviceTiers'>, string>

/** What an exchange `x` with extras used beside tokens, by the rates `p`. */
const EXTRAS = {
  videoSeconds: "coalesce((x.extras->>'videoSeconds')::numeric, 0) * p.per_video_second",
  audioSeconds: "coalesce((x.extras->>'audioSeconds')::numeric, 0) * p.per_audio_second",
  characters: "coalesce((x.extras->>'characters')::numeric, 0) * p.per_character",
  images: `coalesce((select sum(made.count::numeric * coalesce((p.per_image->>made.size)::numeric, p.per_other_image))
    from jsonb_each_text(x.extras->'images') made(size, count)), 0)`,
} as const satisfies Record<keyof Extras, string>

/** What the tokens of an exchange `x` cost by the rates `p`: with numeric always right, with bigint ten times as fast. */
function tokensTimesRates(type: 'bigint' | 'numeric'): string {
  return Object.values(TOKENS)
    .map(({ column, rate }) => `x.${column}::${type} * p.${rate}`)
    .join(' + ')
}

/** What declared rates say of prompts longer than `t.above`. */
function ofLongPrompts(rates: string): string {
  return `coalesce((select tier from jsonb_array_elements(${rates}->'tiers') tier
    where (tier->>'above_input_tokens')::bigint <= t.above order by (tier->>'above_input_tokens')::bigint desc limit 1), '{}')`
}

function tokenRates(): string {
  return Object.entries(TOKEN_RATES)
    .map(
      ([name, names]) => `coalesce(${names.map(of => `(d.r->>'${of}')::bigint`).join(', ')}, 0) as ${name}`,
    )
    .join(', ')
}

/**
 * How a query begins that reads `priced`: the exchanges in question with what they cost, and with what their use comes to by
 * the prices that they name. Written apart from pricing/cost.ts, which it checks. One row of rates for each service tier and
 * each threshold of the prompt's length, with its fall-backs: what a service tier names comes before what the model says of
 * long prompts.
 */
export const PRICED = `with declared as (
    select v.id as version, s.name as service_tier, t.above,
      lead(t.above) over (partition by v.id, s.name order by t.above) as below,
      v.rates || ${ofLongPrompts('v.rates')} || s.rates || ${ofLongPrompts('s.rates')} as r
    from price_version v cross join lateral (
      select '' as name, '{}'::jsonb as rates
      union all
      select own.key, own.value from jsonb_each(v.rates->'service_tiers') own) s
    cross join lateral (
      select -1::bigint as above
      union
      select (tier->>'above_input_tokens')::bigint from jsonb_array_elements(
        coalesce(v.rates->'tiers', '[]') || coalesce(s.rates->'tiers', '[]')) tier) t
    where v.rates is not null and exists (select from audited)
  ), rated as materialized (
    select d.version, d.service_tier, d.above, d.below, d.above >= 0 or d.below is not null as is_tiered,
      (select max(rate.value::bigint) from jsonb_each_text(d.r) rate where jsonb_typeof(d.r->rate.key) = 'string'
        and rate.key not like 'per%') as dearest,
      ${tokenRates()}, ${Object.values(OTHER_RATES).join(', ')}
    from declared d
  ), priced as (
    select x.id, x.account_id, x.price_version, x.service_tier, x.cost_pico,
      case when greatest(${Object.values(TOKENS).map(({ column }) => `x.${column}`)}) < 1 << 30 and p.dearest < 1 << 29
        then (${tokensTimesRates('bigint')})::numeric else ${tokensTimesRates('numeric')} end
      + p.per_request + case when x.extras is null then 0 else ${Object.values(EXTRAS).join(' + ')} end as due_pico
    from exchange x join audited a on a.account_id = x.account_id
    left join rated p on p.version = x.price_version and p.service_tier = coalesce(x.service_tier, '')
      and (not p.is_tiered or ${PROMPT} > p.above and (p.below is null or ${PROMPT} <= p.below))
    where x.id >= ${FIRST_ID} and (x.cost_pico is not null or x.cost_nano is not null))`
