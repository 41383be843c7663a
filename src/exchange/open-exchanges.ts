import { Roll } from '@/clock/roll.ts'
import type { GatewayError } from '@/errors/gateway-error.ts'

/** An answer in one piece that is not there yet. */
interface WholeAnswer {
  /** Of its exchange; undefined: it is paid for whatever becomes of its payer, and ends with the process alone. */
  id?: string
  interruption: { interrupt(reason: GatewayError): void }
}

/** The exchanges that are on their way: how many, and when the last has ended, for a process that is to end after it. */
export class OpenExchanges {
  /** Those whose answer comes in one piece and is not there yet. The watchdog has those that flow. */
  readonly whole = new Roll<WholeAnswer>()
  #count = 0
  #waiting: (() => void)[] = []

  get size(): number {
    return this.#count
  }

  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#count > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const tell of waiting) tell()
  }

  /** Gives up all whose answer comes in one piece: each caller gets the reason as the answer. */
  endWhole(reason: GatewayError): void {
    for (const { item } of [...this.whole]) item?.interruption.interrupt(reason)
  }

  /** Gives up the answer of one exchange, if it comes in one piece. */
  endOne(id: string, reason: GatewayError): void {
    for (const { item } of [...this.whole]) if (item?.id === id) item.interruption.interrupt(reason)
  }

  /** Resolves when there is none. */
  ended(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push(resolve))
  }
}
