import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { FORMATS } from '@/generation/format.ts'
import { REASONING_FIELDS } from '@/generation/reasoning-field.ts'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'
import { SURFACES } from '@/generation/surface.ts'
import { THINK_TAGS } from '@/generation/think-tags.ts'
import { TITLE } from './title.ts'

/**
 * tollgate.yaml, key by key. What a schema cannot say (references, duplicates, decimals) is in checks.ts; what is left
 * out gets its default in file.ts.
 */

/** Every leaf says in words what a value must be; error lines end in it. */
const words = (expected: string) => ({ description: expected })

/** What a value of this schema should have been, in words. */
export function expectedWords(schema: TSchema): string {
  return schema.description ?? 'of another kind'
}

const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false, ...words('a mapping') })

const list = <Item extends TSchema>(item: Item) => Type.Array(item, words('a list'))

const whole = (minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum, maximum, ...words(`a whole number from ${minimum} to ${maximum}`) }))

const oneOf = <Choice extends string>(choices: readonly Choice[]) =>
  Type.Unsafe<Choice>(
    Type.Union(
      choices.map(choice => Type.Literal(choice)),
      words(`one of ${choices.join(', ')}`),
    ),
  )

/** A closed mapping of things that may all be left out, of which one is said at least. */
const some = <Properties extends TProperties>(properties: Properties, expected: string) =>
  Type.Object(properties, { additionalProperties: false, minProperties: 1, ...words(expected) })

/** A number or a text; which numbers are allowed is decided on the text as written, never on a float. */
const decimal = Type.Union([Type.Number(), Type.String()], words('a decimal number of 0 or more'))
const price = Type.Optional(decimal)

/** TypeBox tries a RegExp on whatever there is: a list of one text would do for the text. */
const text = (pattern: RegExp, expected: string) =>
  Type.Unsafe<string>(
    Type.Intersect([Type.String(words(expected)), Type.RegExp(pattern, words(expected))], words(expected)),
  )

const flag = Type.Optional(Type.Boolean(words('true or false')))
/** An address leaves `.` and `..` out of its path, however they are written there: nobody would find what is named so. */
const name = text(
  /^(?!\.{1,2}$)(?=.*[^\p{Default_Ignorable_Code_Point}\u2800])[^\s\p{C}]{1,200}$/u,
  'a name of 1 to 200 characters without spaces, not . or ..',
)
const title = text(TITLE, 'a text of 1 to 200 characters on one line')
/** Printable ASCII: what a header may carry, and so what a key may be. */
const headerText = text(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, 'a text of printable ASCII')
const headerName = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

/** The largest number that the database's integer columns hold. */
const INTEGER_MAX = 2_147_483_647
const DAY_MS = 86_400_000

/** A configured way to reach a vendor. */
const channel = closed({
  /** What models refer to it by; the words of logs and metrics, too. */
  name,
  format: oneOf(FORMATS),
  /** Where it is: with or without a version segment (`/v1`, `/v1beta`). `simulator:` is the built-in simulator. */
  base_url: Type.String(words('an http:// or https:// address, or "simulator:"')),
  /** The pool. Left out: an upstream that wants no key. */
  api_keys: Type.Optional(list(headerText)),
  /** Lower is tried first. 0 unless said. */
  priority: whole(-1_000_000, 1_000_000),
  /** Share among channels of equal priority; 1 unless said. 0 comes last of them. */
  weight: whole(0, 1_000_000),
  /** Added to every attempt. */
  headers: Type.Optional(
    Type.Record(Type.String({ pattern: headerName }), headerText, {
      additionalProperties: false,
      ...words('a mapping of header names to texts'),
    }),
  ),
  timeouts: Type.Optional(
    closed({
      /** Until a TCP connection stands. 10 s unless said. */
      connect_ms: whole(1, DAY_MS),
      /** From the request until the head of the answer. 2 minutes unless said. */
      first_byte_ms: whole(1, DAY_MS),
      /** Between two reads of the answer. 2 minutes unless said. */
      idle_ms: whole(1, DAY_MS),
    }),
  ),
  /** Most exchanges at once, of all processes together. Left out: no limit. */
  max_concurrent: whole(1, INTEGER_MAX),
  /** True: this upstream accepts nothing but function tools. */
  function_tools_only: flag,
  /** How its models write their thoughts into the text. Left out: they do not. */
  think_tags: Type.Optional(oneOf(THINK_TAGS)),
  /** The field in which it takes thoughts of earlier turns back. Left out: by its host, else `reasoning_content`. */
  reasoning_field: Type.Optional(oneOf(REASONING_FIELDS)),
  /** True: prompts of other formats' callers are kept, where this format keeps none unasked. */
  cache_prompts: flag,
  /** Whether the address may be on a private network. Left out: where the address is private in so many words. */
  allow_private: flag,
})

/** One way to serve a model. */
const route = closed({
  /** Of this file, or one that is in the database already. */
  channel: name,
  /** What the upstream calls the model. Left out: as callers do. */
  model: Type.Optional(name),
  /** Lower is tried first, among channels of equal priority. */
  priority: whole(-1_000_000, 1_000_000),
  /** Multiplies the channel's weight. 1 unless said. */
  weight: whole(0, 1_000_000),
})

/**
 * Per million tokens, in the deployment's currency. What is left out falls back (`tokenRatesFor` in
 * generation/rates.ts).
 */
const tokenPrices = {
  input: price,
  cached_input: price,
  cache_write_5m: price,
  cache_write_1h: price,
  output: price,
  reasoning: price,
  input_audio: price,
  output_audio: price,
}

/** The prices that are per million tokens; the others are per unit. */
export const TOKEN_PRICE_NAMES: readonly string[] = Object.keys(tokenPrices)

/** Other prices for long prompts: those that a tier names hold for the whole request. */
const tiers = Type.Optional(
  list(
    closed({
      above_input_tokens: Type.Integer({
        minimum: 0,
        maximum: INTEGER_MAX,
        ...words(`a whole number from 0 to ${INTEGER_MAX}`),
      }),
      ...tokenPrices,
    }),
  ),
)

/** Those of tokens in one service tier; what is left out is as without it. */
const serviceTier = Type.Optional(some({ ...tokenPrices, tiers }, 'a mapping with at least one price'))

const priceFields = {
  ...tokenPrices,
  /** For each request that is answered, whatever it uses. */
  per_request: price,
  /** For each image made, by `SIZE/QUALITY`, `SIZE`, `QUALITY` or `default`. */
  per_image: Type.Optional(
    Type.Record(Type.String(), decimal, {
      minProperties: 1,
      ...words('a mapping of at least one size to its price'),
    }),
  ),
  /** For each second of film that was made. */
  per_video_second: price,
  /** For each second of sound heard or made, begun ones included. */
  per_audio_second: price,
  /** Of the text that is spoken. */
  per_million_characters: price,
  tiers,
  /** Other prices for what an upstream serves in another service tier. */
  service_tiers: Type.Optional(
    some(
      Object.fromEntries(SERVICE_TIERS.map(name => [name, serviceTier])),
      'a mapping of at least one service tier to its prices',
    ),
  ),
}

/** Left out as a whole: the model is refused, not free. */
const prices = closed({
  ...priceFields,
  /** Prices to come, from 00:00 UTC of their day: each replaces all of those before it. */
  changes: Type.Optional(
    list(closed({ from: Type.String(words('a day, as in 2026-12-01')), ...priceFields })),
  ),
})

/** What callers name. */
const model = closed({
  /** What callers send; matched exactly. */
  id: name,
  /** Other names of the model. No two models may have a name in common. */
  aliases: Type.Optional(list(name)),
  /** For people. The id unless said. */
  display_name: Type.Optional(title),
  /** Whose the lists of models say it is. `tollgate` unless said. */
  owned_by: Type.Optional(title),
  /** Where it is served. */
  channels: Type.Array(route, { minItems: 1, ...words('a list of at least one channel') }),
  /** Where it is offered. Left out: wherever its channels and prices can serve. */
  surfaces: Type.Optional(
    Type.Array(oneOf(SURFACES), { minItems: 1, ...words('a list of at least one surface') }),
  ),
  /** False: only accounts that were given it. True unless said. */
  enabled_by_default: flag,
  /** Its longest prompt. Told to clients; no request is refused by it. */
  context_tokens: whole(1, INTEGER_MAX),
  /** Its longest answer. Caps what is set aside for one, and fills `max_tokens` where a format wants it. */
  max_output_tokens: whole(1, INTEGER_MAX),
  prices: Type.Optional(prices),
})

/** What is left out is not limited. */
const bucketLimits = closed({
  requests_per_minute: whole(1, INTEGER_MAX),
  tokens_per_minute: whole(1, Number.MAX_SAFE_INTEGER),
  concurrent_requests: whole(1, INTEGER_MAX),
})

/** What happens to limits while Redis is away. */
export const ON_REDIS_DOWN = ['share', 'open', 'closed'] as const
/** What limits do while Redis is away: each process its share, everything, or nothing. */
export type OnRedisDown = (typeof ON_REDIS_DOWN)[number]

const limits = closed({
  /** Defaults of each account and of each key, which can be given their own. */
  account: Type.Optional(bucketLimits),
  key: Type.Optional(bucketLimits),
  /** Of each account on each single model. Left out: no limit. */
  account_model: Type.Optional(bucketLimits),
  /** Of each model, all accounts together. Left out: no limit. */
  model: Type.Optional(bucketLimits),
  /** `share`: each process holds its share of every limit. `open`: no limits. `closed`: nobody is let in. */
  on_redis_down: Type.Optional(oneOf(ON_REDIS_DOWN)),
})

const port = Type.Integer({ minimum: 1, maximum: 65_535, ...words('a port from 1 to 65535') })

/** The web console. */
const consoleSection = closed({
  /** Whether visitors may make an account. */
  signup: flag,
  /** Whether account holders see which channel served a request. */
  show_channels: flag,
  /** Where mail goes out. Left out: links are shown to administrators. */
  smtp: Type.Optional(
    closed({
      host: name,
      port: Type.Optional(port),
      /** True: TLS from the start (465); false: STARTTLS where the server offers it. */
      secure: flag,
      user: Type.Optional(headerText),
      password: Type.Optional(headerText),
      /** What mail is from: `Tollgate <tollgate@example.com>`. */
      from: text(
        /^(?=.{1,200}$)(?:[^<>\p{C}]*<[^\s<>@\p{C}]+@[^\s<>@\p{C}]+>|[^\s<>@\p{C}]+@[^\s<>@\p{C}]+)$/u,
        'an e-mail address, with a name or without: Tollgate <tollgate@example.com>',
      ),
    }),
  ),
  /** Buying credit by card. Left out: nobody can. */
  stripe: Type.Optional(closed({ secret_key: headerText, webhook_secret: headerText })),
})

/** All of tollgate.yaml. What is left out stays as it is in the database, unless it is pruned. */
export const fileSchema = closed({
  channels: Type.Optional(list(channel)),
  models: Type.Optional(list(model)),
  /** How much accounts, keys and models may do. */
  limits: Type.Optional(limits),
  /** True: media that callers give by address are fetched where an upstream's format cannot take the address. */
  fetch_media: flag,
  /** True: answers tell what is for operators (the channel that answered, limits counted without Redis). */
  operator_headers: flag,
  /** What a new account may spend before it has paid. 1.00 unless said. */
  trial_credit: Type.Optional(decimal),
  /** Of all amounts. Naming another exchanges nothing. USD unless said. */
  currency: Type.Optional(text(/^[A-Z]{3}$/, 'a currency code of three capitals')),
  console: Type.Optional(consoleSection),
})

/** The file as it is written, after it passed the schema. */
export type FileContent = Static<typeof fileSchema>
export type ChannelContent = Static<typeof channel>
export type ModelContent = Static<typeof model>
export type PricesContent = Static<typeof prices>
export type LimitsContent = Static<typeof bucketLimits>
export type ConsoleContent = Static<typeof consoleSection>
