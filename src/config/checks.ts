import { isDay } from '@/clock/day.ts'
import { DEAREST } from '@/generation/rates.ts'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decimalPlaces, isAbove, readDecimal } from './decimal.ts'
import { TOKEN_PRICE_NAMES } from './schema.ts'
import type { Locate } from './validation.ts'
import { child, type Issue, type YamlFile } from './yaml.ts'

/** What a decimal may be at most, and how many decimal places it may have. */
interface Bounds {
  most: number
  places: number
}

/** Prices per million tokens are whole pico units per token. */
const PER_MILLION: Bounds = { most: DEAREST.perMillion, places: 6 }
/** Those per unit are whole pico units. */
const PER_REQUEST: Bounds = { most: DEAREST.perRequest, places: 12 }
const PER_IMAGE: Bounds = { most: DEAREST.perImage, places: 12 }
const PER_SECOND: Bounds = { most: DEAREST.perSecond, places: 12 }
/** Money is nano units. What a bigint of them holds, with room to add. */
const CREDIT: Bounds = { most: 1_000_000_000, places: 9 }

/** Names that the database already has and that the file does not take away. */
export interface Known {
  /** The file may refer to them. */
  channels: ReadonlySet<string>
  /** Ids and aliases of models, and the id of the model whose they are; only that one may have them. */
  modelNames?: ReadonlyMap<string, string>
}

const UNIT_PRICES = [
  ['per_request', PER_REQUEST],
  ['per_video_second', PER_SECOND],
  ['per_audio_second', PER_SECOND],
  ['per_million_characters', PER_MILLION],
] as const

/** Decimals of the file by pointer, in plain digits. */
export type Decimals = ReadonlyMap<string, string>

/**
 * What the schema cannot say: references, duplicates, addresses and decimals. Looks at the value before the schema has
 * passed it, so that one run tells everything; what has the wrong type is skipped here, the schema tells it.
 */
export function check(file: YamlFile, locate: Locate, known: Known): { issues: Issue[]; decimals: Decimals } {
  const root = asObject(file.value) ?? {}
  const checks = new Checks(file.places, locate)
  checks.channels(members(root, '', 'channels'))
  checks.models(members(root, '', 'models'), known)
  if ('trial_credit' in root) checks.decimal(root['trial_credit'], '/trial_credit', CREDIT)
  return { issues: checks.issues, decimals: checks.decimals }
}

/** A value of the file with its pointer. */
interface Found<Value> {
  value: Value
  pointer: string
}

class Checks {
  readonly issues: Issue[] = []
  readonly decimals = new Map<string, string>()
  readonly #places: YamlFile['places']
  readonly #locate: Locate
  readonly #channelNames = new Set<string>()

  constructor(places: YamlFile['places'], locate: Locate) {
    this.#places = places
    this.#locate = locate
  }

  channels(channels: readonly Found<JsonObject>[]): void {
    const names = channels.flatMap(channel => texts(channel, 'name'))
    for (const { value } of names) this.#channelNames.add(value)
    this.#distinct(names, name => `a channel named ${this.#quoted(name)} is already there`)
    for (const channel of channels) {
      for (const { value, pointer } of texts(channel, 'base_url')) this.#add(pointer, wrongBaseUrl(value))
      const keys = textItems(channel, 'api_keys')
      for (const { value, pointer } of keys) this.#add(pointer, nameInPlaceOf(value))
      this.#distinct(keys, () => 'is the same key as one before')
      this.#headers(asObject(channel.value['headers']) ?? {}, child(channel.pointer, 'headers'))
      if (channel.value['cache_prompts'] === true && channel.value['format'] !== 'anthropic-messages') {
        this.#add(child(channel.pointer, 'cache_prompts'), 'is for channels of anthropic-messages')
      }
      if (
        typeof channel.value['reasoning_field'] === 'string' &&
        channel.value['format'] !== 'openai-chat-completions'
      ) {
        this.#add(child(channel.pointer, 'reasoning_field'), 'is for channels of openai-chat-completions')
      }
    }
  }

  models(models: readonly Found<JsonObject>[], known: Known): void {
    const ids = models.flatMap(model => texts(model, 'id'))
    const aliases = models.flatMap(model => textItems(model, 'aliases'))
    // One name space: a caller's word must mean one model.
    this.#distinct([...ids, ...aliases], name => `a model named ${this.#quoted(name)} is already there`)
    const written = new Set(ids.map(({ value }) => value))
    for (const name of [...ids, ...aliases]) {
      const owner = known.modelNames?.get(name.value)
      if (owner === undefined || written.has(owner)) continue
      this.#add(name.pointer, `${this.#quoted(name)} is already a name of model "${owner}" in the database`)
    }
    for (const model of models) {
      this.#routes(model, known)
      this.#distinct(textItems(model, 'surfaces'), name => `${this.#quoted(name)} is already there`)
      const prices = asObject(model.value['prices'])
      if (prices !== undefined) this.#prices({ value: prices, pointer: child(model.pointer, 'prices') })
    }
  }

  /** A number as it was written, or a text, must be a decimal with no more places than the ledger can hold. */
  decimal(value: JsonValue | undefined, pointer: string, { most, places }: Bounds): void {
    const text = this.#places.get(pointer)?.number ?? asString(value)
    if (text === undefined) return
    const decimal = readDecimal(text)
    const was = this.#quoted({ value: text, pointer })
    if (decimal === undefined) this.#add(pointer, `must be a decimal number of 0 or more, but is ${was}`)
    else if (decimalPlaces(decimal) > places) {
      this.#add(pointer, `must have at most ${places} decimal places, but is ${was}`)
    } else if (isAbove(decimal, most)) {
      this.#add(pointer, `must be at most ${most}, but is ${was}`)
    } else this.decimals.set(pointer, decimal)
  }

  #routes(model: Found<JsonObject>, known: Known): void {
    const routes = members(model.value, model.pointer, 'channels')
    for (const { value, pointer } of routes.flatMap(route => texts(route, 'channel'))) {
      if (this.#channelNames.has(value) || known.channels.has(value)) continue
      this.#add(pointer, `there is no channel named ${this.#quoted({ value, pointer })}`)
    }
    const targets = routes.map(({ value, pointer }) => ({
      value: JSON.stringify([value['channel'], value['model'] ?? model.value['id']]),
      pointer,
    }))
    this.#distinct(targets, () => 'is the same channel and model as one before')
  }

  #prices(prices: Found<JsonObject>): void {
    this.#priceFields(prices)
    const changes = members(prices.value, prices.pointer, 'changes')
    for (const change of changes) this.#priceFields(change)
    const days = changes.map(({ value, pointer }) => ({
      value: String(value['from']),
      pointer: child(pointer, 'from'),
    }))
    for (const { value, pointer } of days) {
      if (isDay(value)) continue
      this.#add(pointer, `is ${this.#quoted({ value, pointer })} but must be a day, as in 2026-12-01`)
    }
    this.#distinct(days, ({ value }) => `a change from ${value} on is already there`)
  }

  #priceFields(prices: Found<JsonObject>): void {
    this.#tokenPrices(prices)
    for (const [key, bounds] of UNIT_PRICES)
      this.decimal(prices.value[key], child(prices.pointer, key), bounds)
    const sizes = child(prices.pointer, 'per_image')
    for (const [size, price] of Object.entries(asObject(prices.value['per_image']) ?? {})) {
      this.decimal(price, child(sizes, size), PER_IMAGE)
    }
    this.#tiers(prices)
    const serviceTiers = child(prices.pointer, 'service_tiers')
    for (const name of SERVICE_TIERS) {
      const value = asObject(asObject(prices.value['service_tiers'])?.[name])
      if (value === undefined) continue
      const tier = { value, pointer: child(serviceTiers, name) }
      this.#tokenPrices(tier)
      this.#tiers(tier)
    }
  }

  #tiers(prices: Found<JsonObject>): void {
    const tiers = members(prices.value, prices.pointer, 'tiers')
    for (const tier of tiers) {
      this.#tokenPrices(tier)
      const isPriced = TOKEN_PRICE_NAMES.some(name => name in tier.value)
      if (!isPriced) this.#add(tier.pointer, 'must have at least one price')
    }
    const thresholds = tiers.map(({ value, pointer }) => ({
      value: String(value['above_input_tokens']),
      pointer: child(pointer, 'above_input_tokens'),
    }))
    this.#distinct(thresholds, ({ value }) => `a tier above ${value} tokens is already there`)
  }

  #tokenPrices({ value, pointer }: Found<JsonObject>): void {
    for (const key of TOKEN_PRICE_NAMES) this.decimal(value[key], child(pointer, key), PER_MILLION)
  }

  #headers(headers: JsonObject, pointer: string): void {
    const names = Object.keys(headers).map(name => ({
      value: name.toLowerCase(),
      pointer: child(pointer, name),
    }))
    this.#distinct(names, ({ value }) => `the header ${value} is already there`)
    for (const { value, pointer: at } of names) {
      if (CONNECTION_HEADERS.has(value)) this.#add(at, 'belongs to the connection and cannot be set')
    }
  }

  #distinct(names: readonly Found<string>[], message: (name: Found<string>) => string): void {
    const seen = new Set<string>()
    for (const name of names) {
      if (seen.has(name.value)) this.#add(name.pointer, message(name))
      seen.add(name.value)
    }
  }

  #add(pointer: string, message: string | undefined): void {
    if (message === undefined) return
    const { line, path } = this.#locate(pointer)
    this.issues.push({ line, path, message })
  }

  /** As it is written: what came from a variable is shown as the variable, and of a whole page its beginning. */
  #quoted({ value, pointer }: Found<string>): string {
    const written = this.#places.get(pointer)?.written ?? value
    return JSON.stringify(written.length > LONGEST_NAME ? `${written.slice(0, LONGEST_NAME)}…` : written)
  }
}

/** What a name may be long, in characters. */
const LONGEST_NAME = 200

/** The objects of a list. */
function members(object: JsonObject, pointer: string, key: string): Found<JsonObject>[] {
  return asArray(object[key]).flatMap((item, index) => {
    const value = asObject(item)
    return value === undefined ? [] : [{ value, pointer: child(child(pointer, key), index) }]
  })
}

/** One text, or none. */
function texts({ value, pointer }: Found<JsonObject>, key: string): Found<string>[] {
  const text = asString(value[key])
  return text === undefined ? [] : [{ value: text, pointer: child(pointer, key) }]
}

/** The texts of a list. */
function textItems({ value, pointer }: Found<JsonObject>, key: string): Found<string>[] {
  return asArray(value[key]).flatMap((item, index) =>
    typeof item === 'string' ? [{ value: item, pointer: child(child(pointer, key), index) }] : [],
  )
}

/** Headers that describe the connection or the body, which the gateway writes itself. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** A shell would have put a key there; an upstream would be called with the name. */
function nameInPlaceOf(key: string): string | undefined {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: shows the syntax of the file
  return /^\$\w+$/.test(key) ? 'is the name of a variable and no key: write ${NAME} to read one' : undefined
}

/** Never shows the address: it may hold a password. */
function wrongBaseUrl(baseUrl: string): string | undefined {
  if (baseUrl === 'simulator:') return undefined
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if ((url?.protocol !== 'http:' && url?.protocol !== 'https:') || /\s/.test(baseUrl)) {
    return 'must be an http:// or https:// address, or "simulator:"'
  }
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password: use api_keys'
  if (/[?#]/.test(baseUrl)) return 'must not hold a query or a fragment'
  return undefined
}
