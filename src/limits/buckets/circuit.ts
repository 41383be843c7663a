import type { Clock } from '@/clock/clock.ts'
import { RedisTimeout } from '@/redis/redis.ts'

/** How Redis is asked whether it is back, and who is told that it is gone or back. */
interface CircuitOptions {
  clock: Clock
  /** Resolves if Redis does its work again, for the key with which it failed; undefined: for any. */
  probe: (failed: string | undefined) => Promise<unknown>
  onOpen: (reason: unknown) => void
  onClose: () => void
}

const ERRORS_TO_OPEN = 3

/** Often enough to be back within a second of Redis, with what its client needs to connect. */
const PROBE_MS = 250

/**
 * Whether Redis is worth asking. Opens on three errors in a row, or on the first command that timed out while nothing
 * at all was heard; while other commands are answered, one that is late says only that there are many. Closes when a
 * probe succeeds.
 */
export class Circuit {
  readonly #options: CircuitOptions
  #stopProbing: (() => void) | undefined
  /** The key with which it failed when the circuit opened. */
  #failed: string | undefined
  #probing = false
  #errors = 0
  #replies = 0
  #underWay = 0

  constructor(options: CircuitOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#stopProbing !== undefined
  }

  /** Calls that have no answer yet. */
  get underWay(): number {
    return this.#underWay
  }

  /** Asks something about a key. */
  call<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const repliesBefore = this.#replies
    this.#underWay++
    return work().then(
      value => {
        this.#underWay--
        this.#replies++
        this.#errors = 0
        return value
      },
      error => {
        this.#underWay--
        this.#onError(error, repliesBefore, key)
        throw error
      },
    )
  }

  open(reason: unknown, failed?: string): void {
    if (this.isOpen) return
    this.#failed = failed
    this.#stopProbing = this.#options.clock.every(PROBE_MS, () => void this.#probe())
    this.#options.onOpen(reason)
  }

  /** Ends the probing. */
  stop(): void {
    this.#stopProbing?.()
    this.#stopProbing = undefined
  }

  #onError(error: unknown, repliesBefore: number, key: string): void {
    const isTimeout = error instanceof RedisTimeout
    if (!isTimeout) this.#errors++
    const isSilent = isTimeout && this.#replies === repliesBefore
    if (isSilent || this.#errors >= ERRORS_TO_OPEN) this.open(error, key)
  }

  async #probe(): Promise<void> {
    if (this.#probing) return
    this.#probing = true
    const works = await this.#options.probe(this.#failed).then(
      () => true,
      () => false,
    )
    this.#probing = false
    if (!works || !this.isOpen) return
    this.stop()
    this.#errors = 0
    this.#options.onClose()
  }
}
