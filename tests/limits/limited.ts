import type { LimitValues } from '@/config/entries.ts'
import type { LimitAnswer, LimitGrant, LimitRefusal } from '@/limits/answer.ts'
import type { LimitedRequest } from '@/limits/plan.ts'

interface Ask {
  id?: string
  account?: number
  key?: number
  model?: string
  tokens?: number
  guessedTokens?: number
  accountLimits?: Partial<LimitValues>
  keyLimits?: Partial<LimitValues>
  accountModelLimits?: Partial<LimitValues>
  modelLimits?: Partial<LimitValues>
}

/** A request that only the limits it names can refuse. */
export function ask(options: Ask = {}): LimitedRequest {
  return {
    id: options.id ?? crypto.randomUUID(),
    caller: {
      accountId: options.account ?? 1,
      keyId: options.key ?? 1,
      accountLimits: limits(options.accountLimits),
      keyLimits: limits(options.keyLimits),
    },
    defaults: {
      account: limits(),
      key: limits(),
      ...(options.accountModelLimits && { accountModel: limits(options.accountModelLimits) }),
      ...(options.modelLimits && { model: limits(options.modelLimits) }),
    },
    model: options.model ?? 'gpt-5.1',
    tokens: options.tokens ?? 1,
    guessedTokens: options.guessedTokens ?? 0,
  }
}

function limits(some: Partial<LimitValues> = {}): LimitValues {
  return { requestsPerMinute: undefined, tokensPerMinute: undefined, concurrentRequests: undefined, ...some }
}

export function granted(answer: LimitAnswer): LimitGrant {
  if (!answer.allowed) throw new Error(`refused: ${JSON.stringify(answer)}`)
  return answer
}

export function refused(answer: LimitAnswer): LimitRefusal {
  if (answer.allowed) throw new Error('let in')
  return answer
}
