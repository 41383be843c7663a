import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { REASON, TITLE } from '@/config/title.ts'
import type { EntryKind } from '@/db/schema.ts'
import type { ErrorKind } from '@/errors/gateway-error.ts'
import { FORMATS } from '@/generation/format.ts'
import type { ServiceTier } from '@/generation/service-tier.ts'
import { SURFACES } from '@/generation/surface.ts'

/**
 * The vocabulary that the contracts share. JSON says snake_case, as the command line's `--json` does. A schema's
 * `errorMessage` is what a person is told whose value does not fit (wrong-field.ts).
 */

/** A value or null. */
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** A word that is one of these. */
export const oneOf = <const Choices extends readonly string[]>(choices: Choices) =>
  Type.Unsafe<Choices[number]>(Type.Union(choices.map(choice => Type.Literal(choice))))

/** An object that has these keys and no others. */
export const closed = <Properties extends TProperties>(properties: Properties): TObject<Properties> =>
  Type.Object(properties, { additionalProperties: false })

/** A decimal string in the deployment's currency: `"4.999871250"`. */
export const money = Type.String({ pattern: '^-?\\d{1,20}(\\.\\d{1,12})?$' })
/** A decimal string that somebody types: above 0, at most nine places. */
export const amount = Type.String({
  pattern: '^\\d{1,9}(\\.\\d{1,9})?$',
  errorMessage: 'This is no amount such as 5.00',
})
/** ISO 8601, UTC. */
export const moment = Type.String({ minLength: 20, maxLength: 40 })
/** A day or a moment, ISO 8601; a day is its beginning in UTC. */
export const when = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}(T[0-9:.]{5,16}(Z|[+-]\\d{2}:\\d{2}))?$' })
export const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
/** Of which whoever asks thinks anew for each thing to be made: it is made once, however often it is asked for. */
export const once = Type.Optional(Type.String({ pattern: '^[\\w-]{8,64}$' }))
/** A request id or an entry's id. */
export const uuid = Type.String({ pattern: '^[\\da-fA-F]{8}(-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}$' })
/** Beside what is no part of an address: what cannot be seen or turns the writing round, so that two would look like one. */
const NOT_OF_EMAIL = '\\s@\\x00-\\x1f\\x7f-\\x9f\\xad\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff'
const addressWithout = (none: string) =>
  Type.String({
    minLength: 3,
    maxLength: 254,
    pattern: `^\\s*[^${none}]+@[^${none}]+\\s*$`,
    errorMessage: 'This is no email address such as ada@example.com',
  })
/** The address that somebody has, as they type it; it is trimmed and lower-cased before it is looked for. */
export const ownEmail = addressWithout(NOT_OF_EMAIL)
/** An address to be: without what lists and mail programs put around one. */
export const email = addressWithout(`${NOT_OF_EMAIL}<>();:",`)
/** The password that somebody has: any text, which is right or wrong. */
export const ownPassword = Type.String({ maxLength: 256 })
/** A password to be. */
export const password = Type.String({
  minLength: 10,
  maxLength: 256,
  errorMessage: 'A password has 10 to 256 characters',
})
/** Six digits of an authenticator, or a recovery code. */
export const code = Type.String({
  minLength: 6,
  maxLength: 32,
  errorMessage: 'Six digits, or one of the recovery codes',
})
const lineAs = (rule: RegExp, errorMessage: string) =>
  Type.Unsafe<string>(
    Type.Intersect([Type.String({ errorMessage }), Type.RegExp(rule, { errorMessage })], { errorMessage }),
  )
/** What people know something by, or nothing. */
export const line = lineAs(
  new RegExp(`^ {0,200}$|${TITLE.source}`, 'u'),
  'One line of at most 200 characters, with something to see in it',
)
/** Why somebody did something; it stays in the log. */
export const reason = lineAs(
  REASON,
  'Say why, in one line of at most 500 characters, with something to see in it',
)
/** The name of a channel, or the id of a model. */
export const name = Type.String({ minLength: 1, maxLength: 200 })

/** What an administrator may do; each may what those before may. */
export const role = oneOf(['read_only', 'admin', 'owner'])
export const accountStatus = oneOf(['active', 'suspended', 'closed'])
export const format = oneOf(FORMATS)
export const surface = oneOf(SURFACES)
const END_STATES = [
  'complete',
  'client_gone',
  'upstream_cut',
  'upstream_error',
  'stalled',
  'refused',
] as const
/** How an exchange ended. */
export const endState = oneOf(END_STATES)
/** What a log is searched by; `incomplete` is every end but `complete`. */
export const endFilter = oneOf([...END_STATES, 'incomplete'])
export type EndFilter = Static<typeof endFilter>
/** Of a movement of money; entry-names.ts has what people call it. */
export const entryKind = Type.Unsafe<EntryKind>(Type.String())
/** Of errors as they are today; what is stored may have one that an older version knew. */
export type ErrorCode = ErrorKind
/** How long a spending cap counts before it begins anew, in UTC. */
export const capPeriod = oneOf(['day', 'week', 'month', 'total'])

/** The parameters of a path that names something by its number. */
export const byId = closed({ id })
export const byRequest = closed({ id: uuid })

/** What a list is asked for; `cursor` is the `next` of the page before. */
export const paging = {
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
}

/** A page of a list. `next` is null on the last one. */
export const page = <Item extends TSchema>(item: Item) =>
  closed({ items: Type.Array(item), next: nullable(Type.String()) })

/** What a change is made from, as it was shown; the change is refused (409) if that is no longer what is there. */
export const revision = Type.String({ minLength: 1, maxLength: 20 })

/** Limits of an account or a key; null: the deployment's default. */
export const limits = closed({
  requests_per_minute: nullable(Type.Integer({ minimum: 1, maximum: 1e15 })),
  tokens_per_minute: nullable(Type.Integer({ minimum: 1, maximum: 1e15 })),
  concurrent_requests: nullable(Type.Integer({ minimum: 1, maximum: 1e15 })),
})

/** Changes of limits. Left out: stays as it is; null: back to the deployment's default. */
export const limitChanges = Type.Partial(limits, { additionalProperties: false })

/** Changes of limits from a form that was filled from what was there. */
export const limitForm = closed({ ...limitChanges.properties, revision: Type.Optional(revision) })

/** Nothing to tell but that it is done. */
export const done = closed({ ok: Type.Literal(true) })

/** Prices by the names of tollgate.yaml, decimal strings; units of the currency per million tokens, or per unit. */
export const prices = Type.Unsafe<Prices>(Type.Record(Type.String(), Type.Unknown()))

type TokenPrice =
  | 'input'
  | 'cached_input'
  | 'cache_write_5m'
  | 'cache_write_1h'
  | 'output'
  | 'reasoning'
  | 'input_audio'
  | 'output_audio'

type UnitPrice = 'per_request' | 'per_video_second' | 'per_audio_second' | 'per_million_characters'

/** What holds at one time. */
export interface PriceSet extends Partial<Record<TokenPrice | UnitPrice, string>> {
  per_image?: Record<string, string>
  tiers?: PriceTier[]
  service_tiers?: Partial<Record<ServiceTier, Partial<Record<TokenPrice, string>> & { tiers?: PriceTier[] }>>
}

/** Of long prompts. */
export type PriceTier = { above_input_tokens: number } & Partial<Record<TokenPrice, string>>

/** What holds from 00:00 UTC of a day on, as a whole. */
export type PriceChange = PriceSet & { from: string }

/** What a model costs, now and from days to come. */
export interface Prices extends PriceSet {
  /** Those to come. */
  changes?: PriceChange[]
}
