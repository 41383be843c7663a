import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import { closed, id, moment, money, nullable, when } from './words.ts'

/** How one limit stands. */
export const limitReading = closed({
  /** Whose: the account's, or that of one of its keys. */
  scope: Type.Union([Type.Literal('account'), Type.Literal('key')]),
  kind: Type.Union([Type.Literal('requests'), Type.Literal('tokens'), Type.Literal('concurrent')]),
  key_id: nullable(id),
  key_name: nullable(Type.String()),
  /** Per minute, or at once. */
  limit: Type.Integer(),
  /** In the last minute, or now. */
  used: Type.Integer(),
})
export type LimitReading = Static<typeof limitReading>

export const overview = closed({
  account_id: id,
  email: Type.String(),
  status: Type.Union([Type.Literal('active'), Type.Literal('suspended'), Type.Literal('closed')]),
  on_trial: Type.Boolean(),
  /** What was put in less what was taken out. */
  balance: money,
  /** What running requests have set aside of it. */
  held: money,
  /** What the next request may spend. */
  available: money,
  spent_today: money,
  spent_30_days: money,
  limits: Type.Array(limitReading),
})
export type Overview = Static<typeof overview>

export const usageQuery = {
  /** Default: 24 hours or 30 days before `to`, by `bucket`. */
  from: Type.Optional(when),
  /** Default: now. */
  to: Type.Optional(when),
  /** At most 1000 of them; `auto` is hours up to four days, else days. Days are those of UTC. */
  bucket: Type.Optional(
    Type.Union([Type.Literal('auto'), Type.Literal('minute'), Type.Literal('hour'), Type.Literal('day')]),
  ),
  by: Type.Optional(Type.Union([Type.Literal('model'), Type.Literal('key')])),
}

const series = closed({
  /** Of the model or the key; `''`: refused before it was known, and `*`: all those beyond the twenty largest. */
  id: Type.String(),
  name: Type.String(),
  /** One for each bucket. */
  spend: Type.Array(money),
  requests: Type.Array(Type.Integer()),
  input_tokens: Type.Array(Type.Integer()),
  output_tokens: Type.Array(Type.Integer()),
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

export const usage = closed({
  from: moment,
  to: moment,
  bucket: Type.Union([Type.Literal('minute'), Type.Literal('hour'), Type.Literal('day')]),
  /** The beginnings of the buckets, all of them, in order. */
  buckets: Type.Array(moment),
  /** The largest spenders first. */
  series: Type.Array(series),
  totals,
})
export type Usage = Static<typeof usage>

export const usageRoutes = contracts({
  'GET /api/overview': { access: 'holder', response: overview },
  'GET /api/usage': { access: 'holder', query: closed(usageQuery), response: usage },
  /** A row for each bucket and model or key. */
  'GET /api/usage.csv': {
    access: 'holder',
    answers: 'csv',
    query: closed(usageQuery),
    response: Type.String(),
  },
})
