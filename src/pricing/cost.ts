import type { Extras } from '@/generation/extras.ts'
import { type Rates, type TokenRateName, tokenRatesFor } from '@/generation/rates.ts'
import type { Usage } from '@/generation/usage.ts'

/** What a line of a receipt is for: a name of tollgate.yaml's `prices`. */
export type Bucket = TokenRateName | 'per_request' | 'per_image' | UnitBucket

/** What is counted in units of its own. */
type UnitBucket = 'per_video_second' | 'per_audio_second' | 'per_million_characters'

/** One line of a receipt: `quantity * rate = pico`. */
export interface CostLine {
  bucket: Bucket
  /** Only of images. */
  size?: string
  quantity: bigint
  /** In pico units. */
  rate: bigint
  /** In pico units. */
  pico: bigint
}

/** What something costs, exactly, in pico units, and why: the lines sum to it. */
interface Cost {
  pico: bigint
  lines: readonly CostLine[]
}

/** Each bucket of a usage is charged at one rate, so no token is charged twice. */
const BUCKETS = {
  inputUncached: 'input',
  cacheRead: 'cached_input',
  cacheWrite5m: 'cache_write_5m',
  cacheWrite1h: 'cache_write_1h',
  audioInput: 'input_audio',
  outputText: 'output',
  reasoning: 'reasoning',
  audioOutput: 'output_audio',
} satisfies Record<Exclude<keyof Usage, 'serverTools'>, TokenRateName>

const USAGE_BUCKETS = entriesOf(BUCKETS).map(([bucket, name]) => ({ bucket, name, isInput: isInput(name) }))

/**
 * The one function that prices: what is quoted, listed and billed comes from here. The tier follows from all prompt
 * tokens, cached ones included. Lines of nothing are left out; tokens, images and
 * seconds that nobody priced are a line at rate 0.
 * @throws RangeError for a count that is not a whole number of 0 or more, so that no bill rests on a guess
 */
export function costOf(usage: Usage, rates: Rates, extras: Extras = {}): Cost {
  const lines = tokenLines(usage, rates)
  for (const extra of extraLines(rates, extras)) if (extra.quantity > 0n) lines.push(extra)
  let pico = 0n
  for (const line of lines) pico += line.pico
  return { pico, lines }
}

/** The nano units that a request costs: rounded up, once, so that use is never free and the gain is below one nano. */
export function roundUp(pico: bigint): bigint {
  if (pico < 0n) throw new RangeError(`a cost must be 0 or more, but is ${pico}`)
  return (pico + 999n) / 1000n
}

/** What the rates per request, image, second and character add to the tokens. */
export function extraLines(rates: Rates, extras: Extras): CostLine[] {
  const { images, videoSeconds, audioSeconds, characters, ...rest } = extras
  rest satisfies Record<string, never>
  const lines: CostLine[] = []
  if (rates.perRequest !== undefined) lines.push(line('per_request', 1n, rates.perRequest))
  if (images !== undefined) {
    for (const [size, made] of Object.entries(images)) {
      const quantity = count(made, `images["${size}"]`)
      lines.push({ ...line('per_image', quantity, imageRate(rates, size)), size })
    }
  }
  if (videoSeconds !== undefined)
    lines.push(line('per_video_second', count(videoSeconds, 'videoSeconds'), rates.perVideoSecond ?? 0n))
  if (audioSeconds !== undefined)
    lines.push(line('per_audio_second', count(audioSeconds, 'audioSeconds'), rates.perAudioSecond ?? 0n))
  if (characters !== undefined)
    lines.push(line('per_million_characters', count(characters, 'characters'), rates.perCharacter ?? 0n))
  return lines
}

/** A number of the program as a bigint, if it is one that counts something. */
export function count(value: number, name: string): bigint {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`${name} must be a whole number of 0 or more, but is ${value}`)
  }
  return value === 0 ? 0n : BigInt(value)
}

/** The buckets of which something was used. */
function tokenLines(usage: Usage, rates: Rates): CostLine[] {
  const perToken = tokenRatesFor(rates, rates.tiers.length === 0 ? 0n : allInput(usage))
  const lines: CostLine[] = []
  for (const { bucket, name } of USAGE_BUCKETS) {
    const tokens = usage[bucket]
    if (tokens !== 0) lines.push(line(name, count(tokens, bucket), perToken[name]))
  }
  return lines
}

/** What a tier goes by. */
function allInput(usage: Usage): bigint {
  let sum = 0n
  for (const { bucket, isInput } of USAGE_BUCKETS) if (isInput) sum += count(usage[bucket], bucket)
  return sum
}

function isInput(name: TokenRateName): boolean {
  return name !== 'output' && name !== 'reasoning' && name !== 'output_audio'
}

/** A size that nobody priced costs the default, or what the dearest size costs: never nothing. */
function imageRate({ perImage }: Rates, size: string): bigint {
  return perImage.get(size) ?? perImage.get('default') ?? dearest([...perImage.values()])
}

/** The largest of these, 0 if there are none. */
export function dearest(rates: readonly bigint[]): bigint {
  let most = 0n
  for (const rate of rates) if (rate > most) most = rate
  return most
}

function line(bucket: Bucket, quantity: bigint, rate: bigint): CostLine {
  return { bucket, quantity, rate, pico: quantity * rate }
}

/** Object.entries with the keys that the type declares: safe for the constant above, which has no others. */
function entriesOf<Key extends string, Value>(record: Readonly<Record<Key, Value>>): [Key, Value][] {
  return Object.entries(record) as [Key, Value][]
}
