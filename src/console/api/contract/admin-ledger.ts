import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import {
  amount,
  closed,
  id,
  moment,
  money,
  nullable,
  once,
  oneOf,
  page,
  paging,
  uuid,
  when,
} from './words.ts'

/** A code that gives credit; the code itself is shown once, when it is made. */
const redeemCode = closed({
  /** The first characters of its hash: tells codes apart, redeems nothing. */
  id: Type.String(),
  amount: money,
  max_uses: Type.Integer(),
  uses: Type.Integer(),
  expires_at: nullable(moment),
  /** When what is left of the credit that it gave is taken away; null: never. */
  credit_expires_at: nullable(moment),
  created_at: moment,
  /** When the uses that were left of it were taken back. */
  revoked_at: nullable(moment),
})
export type RedeemCode = Static<typeof redeemCode>

/** An audit of the ledger and what each of its checks found. */
const auditRun = closed({
  at: moment,
  /** Null: by the clock. */
  by: nullable(Type.String()),
  ok: Type.Boolean(),
  /** False: only what came after the last good audit. */
  full: Type.Boolean(),
  ms: Type.Integer(),
  checks: Type.Array(
    closed({
      name: Type.String(),
      title: Type.String(),
      ok: Type.Boolean(),
      informational: Type.Boolean(),
      /** Accounts that it finds are suspended. */
      suspends: Type.Boolean(),
      count: Type.Integer(),
      difference: money,
      first: Type.Array(Type.String()),
    }),
  ),
})
export type AuditRun = Static<typeof auditRun>

/** A charge that the database refused; it is kept, and tried again each minute. */
const refusedCharge = closed({
  request_id: uuid,
  account_id: id,
  /** It may be more than any balance can be. */
  amount: Type.String(),
  /** The database's words. */
  reason: Type.String(),
  refused_at: moment,
  tried_at: moment,
})
export type RefusedCharge = Static<typeof refusedCharge>

/** How the parts of the deployment do, as the process that answers sees them. */
const systemHealth = closed({
  version: Type.String(),
  runtime: Type.String(),
  started_at: moment,
  now: moment,
  database: closed({
    ok: Type.Boolean(),
    version: nullable(Type.String()),
    ms: nullable(Type.Integer()),
    bytes: nullable(Type.Integer()),
  }),
  /** `off`: limits are counted in this process. */
  redis: oneOf(['off', 'ok', 'away']),
  /** Null: this process serves no requests itself. */
  ledger: nullable(
    closed({
      healthy: Type.Boolean(),
      hold_wait_ms: Type.Integer(),
      hold_failure_ago_ms: nullable(Type.Integer()),
      open_holds: Type.Integer(),
      settlements_waiting: Type.Integer(),
      journal: oneOf(['off', 'empty', 'in use', 'full']),
    }),
  ),
  /** When the newest began, and whether that and the newest full one found nothing wrong. Null: none was made yet. */
  last_audit: nullable(closed({ ok: Type.Boolean(), at: moment })),
  /** Gateway processes by their heartbeat. */
  processes: Type.Array(closed({ id: Type.String(), address: Type.String(), seen_at: moment })),
  /** Of this process. */
  memory_bytes: Type.Integer(),
  accounts: Type.Integer(),
  /** Sums over all accounts. */
  balances: money,
  held: money,
})
export type SystemHealth = Static<typeof systemHealth>

/** One administrative act. */
const act = closed({
  id,
  at: moment,
  /** Whose; null: the command line, or the printed link. */
  user_id: nullable(id),
  email: Type.String(),
  /** `account.suspend`, `channel.change`... */
  action: Type.String(),
  /** What it was done to: `account 17`, `channel openai-main`. */
  target: Type.String(),
  before: Type.Unknown(),
  after: Type.Unknown(),
  ip: nullable(Type.String()),
})
export type Act = Static<typeof act>

/** Codes, audits, how the system does, and the log of administrative acts. */
export const adminLedgerRoutes = contracts({
  /** Newest first. */
  'GET /api/admin/redeem-codes': { access: 'reader', query: closed(paging), response: page(redeemCode) },
  /** The codes are in this answer and nowhere else. */
  'POST /api/admin/redeem-codes': {
    access: 'admin',
    body: closed({
      amount,
      uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
      expires_at: Type.Optional(nullable(when)),
      credit_expires_at: Type.Optional(nullable(when)),
      once,
    }),
    response: closed({ codes: Type.Array(Type.String()) }),
  },
  /** Takes back the uses that are left of it; what it gave stays. One of which none are left is refused. */
  'DELETE /api/admin/redeem-codes/:id': {
    access: 'admin',
    params: closed({ id: Type.String({ pattern: '^[\\da-f]{16}$' }) }),
    response: redeemCode,
  },
  /** Newest first. `full`: of what scope; default: both. */
  'GET /api/admin/audits': {
    access: 'reader',
    query: closed({ ...paging, full: Type.Optional(Type.Boolean()) }),
    response: page(auditRun),
  },
  /** Runs one and waits for it; minutes on a ledger of many millions. */
  'POST /api/admin/audits': {
    access: 'admin',
    body: closed({ full: Type.Optional(Type.Boolean()) }),
    response: auditRun,
  },
  /** The newest requests first. */
  'GET /api/admin/refused-charges': {
    access: 'reader',
    query: closed(paging),
    response: page(refusedCharge),
  },
  'GET /api/admin/system': { access: 'reader', response: systemHealth },
  /** Newest first. */
  'GET /api/admin/log': {
    access: 'reader',
    query: closed({
      ...paging,
      action: Type.Optional(Type.String({ maxLength: 60 })),
      user_id: Type.Optional(id),
      target: Type.Optional(Type.String({ maxLength: 300 })),
      /** A part of the address of who did it. */
      by: Type.Optional(Type.String({ maxLength: 254 })),
      from: Type.Optional(when),
      to: Type.Optional(when),
    }),
    response: page(act),
  },
})
