import type { JsonObject } from '@/json/json.ts'

/** A request that the simulated vendor refuses; each format's writer gives it that vendor's shape. */
export class Failure extends Error {
  readonly status: number
  /** OpenAI's `code`, Google's ErrorInfo `reason`; null when the vendor gives none. */
  readonly code: string | null
  /** OpenAI's `param`. */
  readonly param: string | null
  /** Anthropic's `error.details`. */
  readonly details: JsonObject | undefined

  constructor(
    status: number,
    message: string,
    more: { code?: string; param?: string; details?: JsonObject } = {},
  ) {
    super(message)
    this.name = 'Failure'
    this.status = status
    this.code = more.code ?? null
    this.param = more.param ?? null
    this.details = more.details
  }
}

/** A plain 400 in the words of vendors that give no code: Anthropic and Google. */
export function refuse(message: string): never {
  throw new Failure(400, message)
}

/** The failure that `error-STATUS` and the in-stream errors stand for. */
export function simulatedFailure(status: number): Failure {
  if (status === 429)
    return new Failure(429, 'Simulated rate limit: try again in 1s.', { code: 'rate_limit_exceeded' })
  return new Failure(status, `Simulated error ${status}.`)
}
