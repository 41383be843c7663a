import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import {
  amount,
  byId,
  capPeriod,
  closed,
  id,
  limitChanges,
  limits,
  line,
  moment,
  money,
  nullable,
  once,
  oneOf,
  page,
  paging,
  revision,
  when,
} from './words.ts'

/** A key without its secret. */
export const key = closed({
  id,
  account_id: id,
  name: Type.String(),
  /** `sk-` and eight characters: what is safe to show of it. */
  prefix: Type.String(),
  /** What people call it: its name, or its prefix where it has none; in a list with both where others have that name. */
  label: Type.String(),
  /** `suspended`: its account is. */
  status: oneOf(['active', 'suspended', 'expired', 'revoked']),
  /** Null: all that the account reaches. */
  models: nullable(Type.Array(Type.String())),
  expires_at: nullable(moment),
  /** Addresses and ranges; null: anywhere. */
  allow_ips: nullable(Type.Array(Type.String())),
  cap: nullable(closed({ amount: money, period: capPeriod })),
  /** Of the cap's running period; null without a cap. */
  spent: nullable(money),
  limits,
  created_at: moment,
  /** To the minute or so. */
  last_used_at: nullable(moment),
  revoked_at: nullable(moment),
  /** Of its name and limits. */
  revision,
})
export type Key = Static<typeof key>

/** What a key is made from; what is left out does not narrow it. */
const newKey = closed({
  name: line,
  models: Type.Optional(
    nullable(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 500 })),
  ),
  expires_at: Type.Optional(nullable(when)),
  allow_ips: Type.Optional(
    nullable(Type.Array(Type.String({ minLength: 1, maxLength: 60 }), { minItems: 1, maxItems: 100 })),
  ),
  cap: Type.Optional(nullable(closed({ amount, period: capPeriod }))),
  limits: Type.Optional(limitChanges),
  once,
})
export type NewKey = Static<typeof newKey>

/**
 * Which keys are listed: `active` are all that are not revoked, and `expired` those of them that have; `search` is a part of
 * the name, or how the key begins.
 */
export const keyFilters = closed({
  ...paging,
  search: Type.Optional(Type.String({ maxLength: 200 })),
  status: Type.Optional(oneOf(['active', 'expired', 'revoked'])),
})

/** A holder's keys. */
export const keyRoutes = contracts({
  /** Newest first. */
  'GET /api/keys': {
    access: 'holder',
    query: keyFilters,
    response: page(key),
  },
  /** `secret` is the key itself, in this answer and nowhere else. */
  'POST /api/keys': {
    access: 'holder',
    body: newKey,
    response: closed({ key, secret: Type.String() }),
  },
  'PATCH /api/keys/:id': {
    access: 'holder',
    params: byId,
    body: closed({
      name: Type.Optional(line),
      limits: Type.Optional(limitChanges),
      revision: Type.Optional(revision),
    }),
    response: key,
  },
  /** For good. */
  'POST /api/keys/:id/revoke': { access: 'holder', params: byId, response: key },
})
