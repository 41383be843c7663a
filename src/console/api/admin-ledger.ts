import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { auditRun, redeemCode, refusedSettlement } from '@/db/schema.ts'
import { audit } from '@/ledger/audit.ts'
import { CHECKS } from '@/ledger/audit-checks.ts'
import { formatMoney } from '@/pricing/money.ts'
import { administer, readActs } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { MadeOnce } from '../made-once.ts'
import { readDate, readExpiry } from '../moments.ts'
import { readAmount } from '../money/amount.ts'
import { codeId, makeCodes, type StoredCode, takeCodeBack } from '../money/redeem-codes.ts'
import { cursorHash, cursorId, cursorOf, cursorOfHash, cursorRequest, readPage } from '../paging.ts'
import { readSystem } from '../system.ts'
import {
  type Act,
  type AuditRun,
  adminLedgerRoutes,
  type RedeemCode,
  type RefusedCharge,
} from './contract/admin-ledger.ts'
import { actorOf, controller, type Listener } from './controller.ts'

type StoredAudit = typeof auditRun.$inferSelect

/** Redeem codes, audits, the system's health and the log of acts. */
export function adminLedgerApi(console: Console, listener: Listener) {
  const { database } = console
  const made = new MadeOnce<string[]>(console.clock)

  return controller('console-admin-ledger', console, listener, adminLedgerRoutes, {
    'GET /api/admin/redeem-codes': async ({ query }) => {
      const place = cursorHash(query)
      const at = sql`date_trunc('milliseconds', ${redeemCode.createdAt})`
      const read = (limit: number) =>
        database.orm
          .select()
          .from(redeemCode)
          .where(
            place &&
              sql`(${at}, ${redeemCode.codeHash}) < (${place.at.toISOString()}::timestamptz, ${place.hash}::bytea)`,
          )
          .orderBy(desc(at), desc(redeemCode.codeHash))
          .limit(limit)
      const { rows, next } = await readPage(query, read, ({ createdAt, codeHash }) =>
        cursorOfHash({ at: createdAt, hash: codeHash }),
      )
      return { items: rows.map(codeRow), next }
    },
    'POST /api/admin/redeem-codes': async ({ body, ...call }) => {
      const amountNano = readAmount(body.amount)
      const now = console.clock.now()
      const expiresAt = readExpiry(body.expires_at, now)
      const creditExpiresAt = readExpiry(body.credit_expires_at, now, 'credit_expires_at')
      const terms = { amountNano, uses: body.uses ?? 1, count: body.count ?? 1, expiresAt, creditExpiresAt }
      const make = () => makeCodes(console, actorOf(call), terms)
      return { codes: await made.of(call.signedIn.user.id, body, make) }
    },
    'DELETE /api/admin/redeem-codes/:id': async ({ params, ...call }) =>
      codeRow(await takeCodeBack(console, actorOf(call), params.id)),
    'GET /api/admin/audits': async ({ query }) => {
      const before = cursorId(query)
      const read = (limit: number) =>
        database.orm
          .select()
          .from(auditRun)
          .where(
            and(
              before === undefined ? undefined : lt(auditRun.id, before),
              query.full === undefined ? undefined : eq(auditRun.full, query.full),
            ),
          )
          .orderBy(desc(auditRun.id))
          .limit(limit)
      const { rows, next } = await readPage(query, read, cursorOf)
      return { items: rows.map(auditRow), next }
    },
    'POST /api/admin/audits': async ({ body, ...call }) => {
      const by = call.signedIn.user.email
      const full = body.full ?? true
      const report = await audit(database.url, { sinceCheckpoint: !full, by })
      const [run] = await database.orm
        .select()
        .from(auditRun)
        .where(eq(auditRun.by, by))
        .orderBy(desc(auditRun.id))
        .limit(1)
      if (run === undefined) throw new ConsoleError('unavailable', 'The audit left no trace, try again')
      await administer(console, actorOf(call), async () => ({
        result: undefined,
        act: { action: 'audit.run', target: `audit ${run.id}`, before: null, after: { full, ok: report.ok } },
      }))
      return auditRow(run)
    },
    'GET /api/admin/refused-charges': async ({ query }) => {
      const before = cursorRequest(query)
      const read = (limit: number) =>
        database.orm
          .select()
          .from(refusedSettlement)
          .where(before === undefined ? undefined : lt(refusedSettlement.id, before))
          .orderBy(desc(refusedSettlement.id))
          .limit(limit)
      const { rows, next } = await readPage(query, read, cursorOf)
      return { items: rows.map(refusedRow), next }
    },
    'GET /api/admin/system': () => readSystem(console),
    'GET /api/admin/log': async ({ query }) => {
      const { action, target, by, user_id: userId } = query
      const [from, to] = [readDate(query.from, 'from'), readDate(query.to, 'to')]
      const part = { before: cursorId(query), action, target, by, userId, from, to }
      const read = (limit: number) => readActs(database.orm, { ...part, limit })
      const { rows, next } = await readPage(query, read, cursorOf)
      return { items: rows.map(actRow), next }
    },
  })
}

function actRow(act: Awaited<ReturnType<typeof readActs>>[number]): Act {
  return {
    id: act.id,
    at: act.at.toISOString(),
    user_id: act.userId,
    email: act.email,
    action: act.action,
    target: act.target,
    before: act.before,
    after: act.after,
    ip: act.ip,
  }
}

function auditRow(run: StoredAudit): AuditRun {
  return {
    at: run.startedAt.toISOString(),
    by: run.by,
    ok: run.ok,
    full: run.full,
    ms: run.ms,
    checks: run.checks.map(({ name, title, informational, count, difference_nano, first }) => ({
      name,
      title,
      ok: count === 0 || informational,
      informational,
      suspends: CHECKS.some(check => check.name === name && check.breaksAccount === true),
      count,
      difference: formatMoney(BigInt(difference_nano)),
      first: [...first],
    })),
  }
}

function refusedRow(refused: typeof refusedSettlement.$inferSelect): RefusedCharge {
  return {
    request_id: refused.id,
    account_id: refused.accountId,
    amount: formatMoney(BigInt(refused.costNano)),
    reason: refused.reason,
    refused_at: refused.refusedAt.toISOString(),
    tried_at: refused.triedAt.toISOString(),
  }
}

function codeRow(code: StoredCode): RedeemCode {
  return {
    id: codeId(code.codeHash),
    amount: formatMoney(code.amount),
    max_uses: code.maxUses,
    uses: code.uses,
    expires_at: code.expiresAt?.toISOString() ?? null,
    credit_expires_at: code.creditExpiresAt?.toISOString() ?? null,
    created_at: code.createdAt.toISOString(),
    revoked_at: code.revokedAt?.toISOString() ?? null,
  }
}
