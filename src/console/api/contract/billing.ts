import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import {
  amount,
  closed,
  entryKind,
  moment,
  money,
  nullable,
  oneOf,
  page,
  paging,
  uuid,
  when,
} from './words.ts'

/** A movement of money. */
export const entry = closed({
  id: uuid,
  /** 1, 2, 3... per account. */
  seq: Type.String(),
  kind: entryKind,
  /** Below 0 out of the balance. */
  amount: money,
  balance_after: money,
  ref: nullable(Type.String()),
  reason: nullable(Type.String()),
  /** When what is left of this credit is taken away; null: never, or it is no credit. */
  expires_at: nullable(moment),
  created_at: moment,
})
export type Entry = Static<typeof entry>

/** A month of an account (UTC): what it began with, what moved, what it ended with. */
const statement = closed({
  /** `2026-11`, of UTC. */
  month: Type.String(),
  opening: money,
  /** Put in: paid, given or returned. */
  credits: money,
  /** Taken out: used, refunded or expired; below 0. */
  debits: money,
  closing: money,
  entries: Type.Integer(),
})
export type Statement = Static<typeof statement>

/** The months in which something moved, newest first. */
export const statements = closed({ items: Type.Array(statement) })
/** Of UTC. */
export const ofMonth = { month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }) }

/** The holder gets a mail when the balance falls below it; null: none. */
const notice = closed({ below: nullable(money) })

/** Which entries are listed. */
export const entryFilters = closed({
  ...paging,
  /** `usage` shows only what requests cost, `other` everything else. */
  show: Type.Optional(oneOf(['all', 'usage', 'other'])),
  /** When it was posted. */
  from: Type.Optional(when),
  to: Type.Optional(when),
})

/** A holder's entries and statements, and the ways to add credit. */
export const billingRoutes = contracts({
  /** Newest first. */
  'GET /api/billing/entries': {
    access: 'holder',
    query: entryFilters,
    response: page(entry),
  },
  /** Of one month. */
  'GET /api/billing/entries.csv': {
    access: 'holder',
    answers: 'csv',
    query: closed(ofMonth),
    response: Type.String(),
  },
  'POST /api/billing/redeem': {
    access: 'holder',
    body: closed({ code: Type.String({ minLength: 1, maxLength: 100 }) }),
    response: closed({
      result: oneOf(['redeemed', 'already_redeemed', 'used_up', 'expired', 'revoked', 'unknown']),
      amount: money,
      balance: money,
    }),
  },
  /** Begins a payment by card: the page goes to `url`, and comes back to `/billing?checkout=done` or `=cancelled`. */
  'POST /api/billing/checkout': {
    access: 'holder',
    body: closed({ amount }),
    response: closed({ url: Type.String() }),
  },
  'GET /api/billing/notice': { access: 'holder', response: notice },
  'PUT /api/billing/notice': {
    access: 'holder',
    body: closed({ below: nullable(amount) }),
    response: notice,
  },
  /** Newest first; months without a movement are left out. */
  'GET /api/billing/statements': { access: 'holder', response: statements },
  /** A page to print or to keep as PDF. */
  'GET /api/billing/statements/:month': {
    access: 'holder',
    answers: 'page',
    params: closed(ofMonth),
    response: Type.String(),
  },
  /** For Stripe alone, which signs what it sends. */
  'POST /api/stripe/webhook': {
    access: 'anyone',
    response: closed({ received: Type.Literal(true), posted: Type.Boolean() }),
  },
})
