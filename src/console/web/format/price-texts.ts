import type { PriceChange, PriceSet, Prices } from '../../api/contract/words.ts'

/** Prices as people type them; an empty text is a price that is not declared. */
export interface PriceTexts {
  values: Readonly<Record<string, string>>
  /** What the fields do not hold (`MORE`), as JSON. */
  more: string
  /** Of days to come; no field shows them, and they stay what they are. */
  changes: readonly PriceChange[]
}

/** The token prices, in the order people read them; per million tokens. */
export const TOKEN_PRICES = [
  { name: 'input', label: 'Input' },
  { name: 'output', label: 'Output' },
  { name: 'cached_input', label: 'Cached input' },
  { name: 'cache_write_5m', label: 'Cache write, 5 min' },
  { name: 'cache_write_1h', label: 'Cache write, 1 h' },
  { name: 'reasoning', label: 'Reasoning' },
  { name: 'input_audio', label: 'Audio in' },
  { name: 'output_audio', label: 'Audio out' },
] as const

/** The prices of what is counted in units of its own: how a list says them, and how a form asks for them. */
export const UNIT_PRICES = [
  { name: 'per_request', label: 'Request', unit: 'each', field: 'Each request' },
  { name: 'per_video_second', label: 'Video', unit: 'per second', field: 'Second of video' },
  { name: 'per_audio_second', label: 'Sound', unit: 'per second', field: 'Second of sound' },
  {
    name: 'per_million_characters',
    label: 'Speech',
    unit: 'per M characters',
    field: 'Million characters of speech',
  },
] as const

/** The prices with a field of their own. */
export const PRICE_FIELDS: readonly { name: PriceField; label: string }[] = [
  ...TOKEN_PRICES,
  ...UNIT_PRICES.map(({ name, field }) => ({ name, label: field })),
]

/** The prices without a field, which are more than one number. */
const MORE = ['per_image', 'tiers', 'service_tiers'] as const

type PriceField = (typeof TOKEN_PRICES | typeof UNIT_PRICES)[number]['name']

/** What a form of prices begins with. */
export function priceTexts(prices: Prices | null): PriceTexts {
  const more = Object.fromEntries(
    MORE.flatMap(name => (prices?.[name] === undefined ? [] : [[name, prices[name]]])),
  )
  return {
    values: Object.fromEntries(PRICE_FIELDS.map(({ name }) => [name, prices?.[name] ?? ''])),
    more: Object.keys(more).length === 0 ? '' : JSON.stringify(more, null, 2),
    changes: prices?.changes ?? [],
  }
}

/** What is wrong, by field (`more` is the JSON); or the prices, null if none is declared. */
type ReadPrices = { prices: Prices | null } | { field: string; message: string }

/** What was typed, as the API takes it. */
export function readPriceTexts({ values, more, changes }: PriceTexts): ReadPrices {
  const prices: PriceSet = {}
  for (const { name } of PRICE_FIELDS) {
    const text = (values[name] ?? '').trim()
    if (text === '') continue
    if (!/^\d{1,12}(\.\d{1,12})?$/.test(text)) return { field: name, message: 'A price such as 1.25.' }
    prices[name] = text
  }
  const rest = readMore(more)
  if (rest === undefined) return { field: 'more', message: 'JSON with per_image, tiers or service_tiers.' }
  const whole = { ...prices, ...rest }
  if (Object.keys(whole).length === 0) return { prices: null }
  return { prices: changes.length === 0 ? whole : { ...whole, changes: [...changes] } }
}

/** The server judges what is in it; here it only has to be an object of these names. */
function readMore(text: string): Pick<Prices, (typeof MORE)[number]> | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.keys(value).every(name => MORE.some(known => known === name)) ? value : undefined
  } catch {
    return undefined
  }
}
