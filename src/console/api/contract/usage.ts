import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import { accountStatus, closed, id, moment, money, nullable, oneOf, when } from './words.ts'

/** How one limit stands. */
const limitReading = closed({
  /** Whose: the account's, or that of one of its keys. */
  scope: oneOf(['account', 'key']),
  kind: oneOf(['requests', 'tokens', 'concurrent']),
  key_id: nullable(id),
  key_name: nullable(Type.String()),
  /** Per minute, or at once. */
  limit: Type.Integer(),
  /** In the last minute, or now. */
  used: Type.Integer(),
})
export type LimitReading = Static<typeof limitReading>

/** A holder's balance, spending and limits at one look. */
const overview = closed({
  account_id: id,
  email: Type.String(),
  status: accountStatus,
  on_trial: Type.Boolean(),
  /** What was put in less what was taken out. */
  balance: money,
  /** What running requests have set aside of it. */
  held: money,
  /** What the next request may spend. */
  available: money,
  /** What is left of credit that has an end, what is used first in front. */
  expiring: Type.Array(closed({ amount: money, expires_at: moment })),
  /** When the newest of its last 100 requests was refused that credit did not pay for, within a day and since credit was last added; null: none was. */
  refused_at: nullable(moment),
  /** Since the day began in the zone that was asked for. */
  spent_today: money,
  /** The same, and the 29 days before. */
  spent_30_days: money,
  /** The account's, then of at most 20 keys that had a request in the last minute or have one running: the nearest to a limit first. */
  limits: Type.Array(limitReading),
})
export type Overview = Static<typeof overview>

/** Whose days and hours are meant, as `Europe/Berlin`. Default, and where the name is not known: UTC. */
const zone = Type.Optional(Type.String({ maxLength: 64 }))

/** What a picture of usage is asked for. */
export const usageQuery = {
  /** Default: 24 hours or 30 days before `to`, by `bucket`. */
  from: Type.Optional(when),
  /** Default: now. */
  to: Type.Optional(when),
  /** At most 1000 of them; `auto` is hours up to four days, else days. */
  bucket: Type.Optional(oneOf(['auto', 'minute', 'hour', 'day'])),
  zone,
  by: Type.Optional(oneOf(['model', 'key', 'service_tier'])),
}

const series = closed({
  /** Of what it is by; `''`: none, or refused before it was known, and `*`: all those beyond the twenty largest. */
  id: Type.String(),
  name: Type.String(),
  /** One for each bucket. */
  spend: Type.Array(money),
  requests: Type.Array(Type.Integer()),
  input_tokens: Type.Array(Type.Integer()),
  /** Of the input: read from the upstream's cache. */
  cached_tokens: Type.Array(Type.Integer()),
  output_tokens: Type.Array(Type.Integer()),
  /** Of the requests: that did not end `complete`. */
  failed: Type.Array(Type.Integer()),
})

const totals = closed({
  spend: money,
  requests: Type.Integer(),
  /** That did not end `complete`. */
  failed: Type.Integer(),
  input_tokens: Type.Integer(),
  /** Of the input: read from the upstream's cache. */
  cached_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
})

/** What was used in each bucket of a time, and in all of it. */
export const usage = closed({
  from: moment,
  to: moment,
  bucket: oneOf(['minute', 'hour', 'day']),
  /** Whose days and hours the buckets are. */
  zone: Type.String(),
  /** The beginnings of the buckets, all of them, in order. */
  buckets: Type.Array(moment),
  /** The largest spenders first. */
  series: Type.Array(series),
  totals,
})
export type Usage = Static<typeof usage>

/** What a holder has and used. */
export const usageRoutes = contracts({
  'GET /api/overview': { access: 'holder', query: closed({ zone }), response: overview },
  'GET /api/usage': { access: 'holder', query: closed(usageQuery), response: usage },
  /** A row for each bucket and model, key or service tier in which there was a request. */
  'GET /api/usage.csv': {
    access: 'holder',
    answers: 'csv',
    query: closed(usageQuery),
    response: Type.String(),
  },
})
