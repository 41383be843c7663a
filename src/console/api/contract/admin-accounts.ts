import { type Static, Type } from '@sinclair/typebox'
import { madeLink } from './admin-links.ts'
import { entry, entryFilters, ofMonth, statements } from './billing.ts'
import { key, keyFilters } from './keys.ts'
import { receipt, requestFilters, requestLine, requestPage } from './requests.ts'
import { contracts } from './route.ts'
import { usage, usageQuery } from './usage.ts'
import {
  accountStatus,
  amount,
  byId,
  byRequest,
  closed,
  email,
  id,
  limitForm,
  limits,
  moment,
  money,
  nullable,
  once,
  oneOf,
  ownPassword,
  page,
  paging,
  reason,
  revision,
  role,
  when,
} from './words.ts'

/** An account as administrators see it. */
const account = closed({
  id,
  email: Type.String(),
  status: accountStatus,
  on_trial: Type.Boolean(),
  balance: money,
  held: money,
  available: money,
  limits,
  /** Beside those that every account has. */
  models: Type.Array(Type.String()),
  created_at: moment,
  /** Since when its holder asks for it to be closed; null: they do not. */
  close_requested_at: nullable(moment),
  /** Who signs in for it; null: nobody can. */
  user: nullable(closed({ id, role: nullable(role), status: Type.String() })),
  /** Of its limits and models. */
  revision,
})
export type Account = Static<typeof account>

const models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 1000 })
const posting = closed({ amount, reason, once })
/** What is left of it at `expires_at` is taken away. */
const credit = closed({ ...posting.properties, expires_at: Type.Optional(nullable(when)) })
const posted = closed({ entry_id: Type.String(), balance: money })

const post = { access: 'admin', params: byId, response: posted } as const
/** What is done to an account as a whole, and why. */
const change = { access: 'admin', params: byId, body: closed({ reason }), response: account } as const

/** What an account is made from. */
const newAccount = closed({
  email,
  credit: Type.Optional(Type.String({ pattern: '^\\d{1,9}(\\.\\d{1,9})?$' })),
  models: Type.Optional(models),
  invite: Type.Optional(Type.Boolean()),
  /** With `invite`. */
  password: Type.Optional(ownPassword),
})
export type NewAccount = Static<typeof newAccount>

/** Accounts: made, credited, limited, suspended and closed. */
export const adminAccountRoutes = contracts({
  /** Newest first. `search` is in the address, or is an id. */
  'GET /api/admin/accounts': {
    access: 'reader',
    query: closed({
      ...paging,
      search: Type.Optional(Type.String({ maxLength: 254 })),
      status: Type.Optional(accountStatus),
      /** True: only those whose holder asks for them to be closed. */
      asks_to_close: Type.Optional(Type.Boolean()),
      /** True: only those whose balance is below zero. */
      in_debt: Type.Optional(Type.Boolean()),
    }),
    response: page(account),
  },
  /** Without `credit` it gets the trial credit. With `invite`, `url` is a one-time link for whom it belongs to. */
  'POST /api/admin/accounts': {
    access: 'admin',
    asks: 'password',
    body: newAccount,
    response: closed({
      account,
      url: nullable(Type.String()),
      expires_at: nullable(moment),
      mailed: Type.Boolean(),
    }),
  },
  'GET /api/admin/accounts/:id': { access: 'reader', params: byId, response: account },
  /** A one-time link for an account that nobody signs in for yet. */
  'POST /api/admin/accounts/:id/invite': {
    access: 'admin',
    params: byId,
    asks: 'password',
    body: closed({ password: ownPassword }),
    response: madeLink,
  },
  'POST /api/admin/accounts/:id/credit': { ...post, body: credit },
  'POST /api/admin/accounts/:id/debit': { ...post, body: posting },
  'POST /api/admin/accounts/:id/suspend': change,
  'POST /api/admin/accounts/:id/resume': change,
  /** Revokes its keys and signs its holder out; the balance stays until it is paid out. */
  'POST /api/admin/accounts/:id/close': change,
  /** Its holder can sign in again; its keys stay revoked. */
  'POST /api/admin/accounts/:id/reopen': {
    ...change,
    asks: 'password',
    body: closed({ reason, password: ownPassword }),
  },
  /** Forgets who the holder of a closed account was. It cannot be undone; the books stay. */
  'POST /api/admin/accounts/:id/erase': change,
  /** Posts all that is left of a closed account out of it: paid back, kept, or (of a debt) written off. */
  'POST /api/admin/accounts/:id/pay-out': {
    access: 'admin',
    params: byId,
    body: closed({ as: oneOf(['refund', 'debit', 'write_off']), reason }),
    response: posted,
  },
  'PATCH /api/admin/accounts/:id/limits': {
    access: 'admin',
    params: byId,
    body: limitForm,
    response: account,
  },
  /** Replaces the models given to it. */
  'PUT /api/admin/accounts/:id/models': {
    access: 'admin',
    params: byId,
    body: closed({ models, revision: Type.Optional(revision) }),
    response: account,
  },
  'GET /api/admin/accounts/:id/keys': {
    access: 'reader',
    params: byId,
    query: keyFilters,
    response: page(key),
  },
  'GET /api/admin/accounts/:id/entries': {
    access: 'reader',
    params: byId,
    query: entryFilters,
    response: page(entry),
  },
  /** Of one month. */
  'GET /api/admin/accounts/:id/entries.csv': {
    access: 'reader',
    answers: 'csv',
    params: byId,
    query: closed(ofMonth),
    response: Type.String(),
  },
  /** Newest first; months without a movement are left out. */
  'GET /api/admin/accounts/:id/statements': { access: 'reader', params: byId, response: statements },
  /** A page to print or to keep as PDF. */
  'GET /api/admin/accounts/:id/statements/:month': {
    access: 'reader',
    answers: 'page',
    params: closed({ id, ...ofMonth }),
    response: Type.String(),
  },
})

/** Keys of all accounts. */
export const adminKeyRoutes = contracts({
  'POST /api/admin/keys/:id/revoke': { access: 'admin', params: byId, response: key },
  'PATCH /api/admin/keys/:id/limits': {
    access: 'admin',
    params: byId,
    body: limitForm,
    response: key,
  },
})

const adminRequestFilters = {
  ...requestFilters,
  account_id: Type.Optional(id),
  channel: Type.Optional(Type.String({ maxLength: 200 })),
}

const adminUsageQuery = closed({
  ...usageQuery,
  by: Type.Optional(oneOf(['model', 'account', 'channel', 'key', 'service_tier'])),
  account_id: Type.Optional(id),
})

/** The requests of all accounts. */
export const adminRequestRoutes = contracts({
  /** Of all accounts, or of one. */
  'GET /api/admin/usage': { access: 'reader', query: adminUsageQuery, response: usage },
  'GET /api/admin/usage.csv': {
    access: 'reader',
    answers: 'csv',
    query: adminUsageQuery,
    response: Type.String(),
  },
  'GET /api/admin/requests': {
    access: 'reader',
    query: closed({ ...paging, ...adminRequestFilters }),
    response: requestPage,
  },
  /** The same, all of it. */
  'GET /api/admin/requests.csv': {
    access: 'reader',
    answers: 'csv',
    query: closed(adminRequestFilters),
    response: Type.String(),
  },
  'GET /api/admin/requests/:id': { access: 'reader', params: byRequest, response: receipt },
  /** Gives back what a request was charged, or a part of that, and no more. */
  'POST /api/admin/requests/:id/refund': { ...post, params: byRequest, body: posting },
  'GET /api/admin/live/requests': { access: 'reader', answers: 'events', response: requestLine },
})
