import type { Clock } from '@/clock/clock.ts'
import type { Bucket } from '@/limits/buckets/bucket.ts'
import { LocalBuckets } from '@/limits/buckets/local-bucket.ts'
import { subscriberOf } from '@/net/ip-range.ts'
import { ConsoleError } from '../failure.ts'

/** How often something may be tried: so many at once, and one more whenever this time has passed. */
interface Allowance {
  burst: number
  everyMs: number
}

const MINUTE_MS = 60_000

const ALLOWANCES = {
  /** Passwords for one account from one address; from everywhere; and from one address for all accounts. */
  'sign-in': { burst: 10, everyMs: MINUTE_MS },
  'sign-in-email': { burst: 100, everyMs: MINUTE_MS },
  'sign-in-ip': { burst: 50, everyMs: 20_000 },
  /** Codes of one user's second factor. */
  'second-factor': { burst: 6, everyMs: 2 * MINUTE_MS },
  /** Mails and accounts that strangers make us send and make. */
  'stranger-email': { burst: 3, everyMs: 20 * MINUTE_MS },
  'stranger-ip': { burst: 10, everyMs: 6 * MINUTE_MS },
  /** Tokens of links from one address. */
  'link-ip': { burst: 20, everyMs: 20_000 },
  /** Redeem codes that an account tries. */
  redeem: { burst: 10, everyMs: 30_000 },
} as const satisfies Record<string, Allowance>

type ThrottleName = keyof typeof ALLOWANCES

/** What is tried, and for whom. */
export type Throttled = readonly [ThrottleName, string]

/** Where an attempt comes from, as it is counted. */
export function placeOf({ ip }: { ip: string | undefined }): string {
  return ip === undefined ? '' : subscriberOf(ip)
}

const SWEEP_MS = 10 * MINUTE_MS

/** Counts what is tried too often, in this process: there is one console in a deployment. */
export class Throttle {
  readonly #buckets: LocalBuckets
  readonly #stop: () => void

  constructor(clock: Clock) {
    this.#buckets = new LocalBuckets(() => Math.floor(clock.now() * 1000))
    this.#stop = clock.every(SWEEP_MS, () => this.#buckets.sweep())
  }

  /**
   * Counts an attempt in all of these, or in none.
   * @throws ConsoleError `rate_limited`
   */
  take(...attempts: Throttled[]): void {
    const buckets = attempts.map(bucketOf)
    const { allowed, retryAfterUs } = this.#buckets.take({ id: '', buckets, leases: [] })
    if (allowed) return
    const retryAfterMs = retryAfterUs / 1000
    throw new ConsoleError('rate_limited', `Too many attempts, try again in ${inWords(retryAfterMs)}`, {
      retryAfterMs,
    })
  }

  /** The attempts succeeded: they do not count. */
  giveBack(...attempts: Throttled[]): void {
    for (const { key, costUs } of attempts.map(bucketOf)) this.#buckets.move(key, -costUs)
  }

  close(): void {
    this.#stop()
  }
}

function inWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds <= 90) return seconds === 1 ? 'a second' : `${seconds} seconds`
  return `${Math.ceil(seconds / 60)} minutes`
}

function bucketOf([name, whom]: Throttled): Bucket {
  const { burst, everyMs } = ALLOWANCES[name]
  return { key: `${name}:${whom}`, costUs: everyMs * 1000, burstUs: everyMs * 1000 * burst }
}
