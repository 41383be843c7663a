import { GatewayError } from '@/errors/gateway-error.ts'

/** Hears why an exchange is given up, in the turn in which it is. */
export type InterruptionListener = (reason: GatewayError) => void

/**
 * Whether an exchange was given up, and why: its caller left, or there is no money for it. Listeners are plain functions:
 * an AbortSignal that combines the reasons cost an undisturbed exchange a tenth of its time. Only an attempt has an
 * AbortController, since fetch wants one.
 */
export class Interruption {
  readonly #listeners: InterruptionListener[] = []
  #reason: GatewayError | undefined

  /** Undefined while the exchange goes on. */
  get reason(): GatewayError | undefined {
    return this.#reason
  }

  /** Gives the exchange up. The first reason is the one. */
  interrupt(reason: GatewayError): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    for (const listener of [...this.#listeners]) listener(reason)
  }

  /** Calls `listener` when the exchange is given up; at once, if it was. */
  listen(listener: InterruptionListener): void {
    this.#listeners.push(listener)
    if (this.#reason !== undefined) listener(this.#reason)
  }

  unlisten(listener: InterruptionListener): void {
    const index = this.#listeners.indexOf(listener)
    if (index >= 0) this.#listeners.splice(index, 1)
  }
}

/** What a caller's connection, or whoever decides in its place, says of an exchange. The one listener on it. */
export function interruptionBy(signal: AbortSignal): Interruption {
  const interruption = new Interruption()
  const interrupt = () => interruption.interrupt(reasonOf(signal))
  if (signal.aborted) interrupt()
  else signal.addEventListener('abort', interrupt)
  return interruption
}

/** An error of ours, or the caller's leaving. */
function reasonOf({ reason }: AbortSignal): GatewayError {
  return reason instanceof GatewayError ? reason : clientClosed()
}

/** The error that an exchange ends in when its caller is gone, whatever else went wrong by then. */
export function callerLeft(signal: AbortSignal): GatewayError | undefined {
  return signal.aborted ? clientClosed() : undefined
}

/** What is told to nobody, and to the log. */
export function clientClosed(): GatewayError {
  return new GatewayError('client_closed', 'The caller left before the answer')
}
