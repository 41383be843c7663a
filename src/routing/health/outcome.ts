import type { ErrorKind, GatewayError } from '@/errors/gateway-error.ts'
import type { Signal } from './breaker.ts'

/** How an attempt ended, as far as the upstream's health is concerned. */
export type Outcome =
  /** It gave output, or answered as a whole. */
  | { kind: 'ok' }
  /** The request was wrong, the caller left, or the failure was ours: nothing is known of the upstream. */
  | { kind: 'ignored' }
  | { kind: FailureKind; retryAfterMs: number | undefined; reason: string }

const FAILURE_KINDS = [
  'upstream_error',
  'upstream_timeout',
  'upstream_rate_limited',
  'upstream_auth',
] as const satisfies readonly ErrorKind[]

/** `model_refused`: there is nothing wrong with the key, but it cannot be used for this model. */
export type FailureKind = (typeof FAILURE_KINDS)[number] | 'model_refused'

/** What an error tells of the upstream that it came from. */
export function outcomeOf(error: GatewayError): Outcome {
  const { retryAfterMs, message: reason } = error
  if (error.blames === 'model') return { kind: 'model_refused', retryAfterMs, reason }
  if (error.blames === 'key') return { kind: 'upstream_auth', retryAfterMs, reason }
  const kind = FAILURE_KINDS.find(name => name === error.kind)
  return kind === undefined ? { kind: 'ignored' } : { kind, retryAfterMs, reason }
}

interface Signals {
  readonly channel: Signal
  readonly key: Signal
  readonly model: Signal
}

/**
 * What an outcome says of its channel, of its key, and of its model with that key. A failing upstream counts against channel
 * and key, so that a pool's one bad key goes before its channel does; a refusal is the key's own. A limit is one model's
 * with the key, as at OpenAI, Anthropic, Google (https://ai.google.dev/gemini-api/docs/rate-limits) and most others; where
 * it is the whole account's, each model finds out by itself.
 */
export function signalsOf(outcome: Outcome): Signals {
  switch (outcome.kind) {
    case 'ok':
      return ALL_OK
    case 'ignored':
      return ALL_NEUTRAL
    case 'upstream_error':
    case 'upstream_timeout': {
      const { retryAfterMs, reason } = outcome
      const failure = { kind: 'failure', retryAfterMs, reason } as const
      return { channel: failure, key: failure, model: NEUTRAL }
    }
    case 'upstream_rate_limited': {
      const { retryAfterMs, reason } = outcome
      const limit = { kind: 'pause', cause: 'rate-limited', retryAfterMs, reason } as const
      return { channel: NEUTRAL, key: NEUTRAL, model: limit }
    }
    case 'upstream_auth': {
      const { retryAfterMs, reason } = outcome
      const refusal = { kind: 'pause', cause: 'refused', retryAfterMs, reason } as const
      return { channel: NEUTRAL, key: refusal, model: NEUTRAL }
    }
    case 'model_refused': {
      const { retryAfterMs, reason } = outcome
      // The upstream answered, and knew the key.
      return { channel: OK, key: OK, model: { kind: 'pause', cause: 'refused', retryAfterMs, reason } }
    }
  }
}

const OK: Signal = { kind: 'ok' }
const NEUTRAL: Signal = { kind: 'neutral' }
const ALL_OK: Signals = { channel: OK, key: OK, model: OK }
const ALL_NEUTRAL: Signals = { channel: NEUTRAL, key: NEUTRAL, model: NEUTRAL }
