import { GatewayError } from '@/errors/gateway-error.ts'
import { stoppedBy } from '@/exchange/watchdog.ts'
import type { DenialReason, Stop } from '@/ledger/types.ts'

/** Whether a hold was denied for lack of money, and not because the account or the key may spend none. */
export function isOfMoney(reason: DenialReason): reason is Exclude<DenialReason, Stop['reason']> {
  return reason === 'credit_exhausted' || reason === 'credit_reserved' || reason === 'key_budget_exhausted'
}

/**
 * What the ledger denied, before anything was sent.
 * @param affordable the output limit that could be paid for
 * @param resetsAt when the budget of the key begins anew
 * @param now in ms since 1970
 */
export function denied(
  reason: DenialReason,
  affordable: number | undefined,
  resetsAt: Date | undefined,
  now: number,
): GatewayError {
  switch (reason) {
    case 'credit_exhausted':
      return affordable === undefined
        ? new GatewayError('credit_exhausted', 'The credit of this account does not pay for this request')
        : new GatewayError(
            'credit_exhausted',
            `The credit of this account does not pay for this request; it pays for ${affordable} output tokens at most`,
            { details: { affordable_max_tokens: affordable } },
          )
    case 'credit_reserved':
      return new GatewayError(
        'credit_reserved',
        'The credit of this account, or what this API key may spend, is set aside for running requests; try again when one of them has ended',
        { retryAfterMs: 2000 },
      )
    case 'key_budget_exhausted':
      return new GatewayError('key_budget_exhausted', budgetMessage(affordable, resetsAt), {
        retryAfterMs: resetsAt === undefined ? undefined : Math.max(1000, resetsAt.getTime() - now),
        details: affordable === undefined ? undefined : { affordable_max_tokens: affordable },
      })
    default:
      return stoppedBy(reason)
  }
}

/** What the ledger denied to an answer that flows, and that has delivered what is paid for. */
export function usedUpBy(reason: DenialReason): GatewayError {
  switch (reason) {
    case 'credit_exhausted':
    case 'credit_reserved':
      return new GatewayError(
        'credit_exhausted',
        'The credit of this account is used up, the answer ends here',
      )
    case 'key_budget_exhausted':
      return new GatewayError(reason, 'The spending cap of this API key is reached, the answer ends here')
    default:
      return stoppedBy(reason)
  }
}

function budgetMessage(affordable: number | undefined, resetsAt: Date | undefined): string {
  const until = resetsAt === undefined ? '' : `; it starts anew at ${resetsAt.toISOString()}`
  if (affordable === undefined || affordable === 0)
    return `The spending cap of this API key is reached${until}`
  return `What is left of the spending cap of this API key pays for ${affordable} output tokens at most${until}`
}
