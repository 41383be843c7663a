import { GatewayError } from '@/errors/gateway-error.ts'

/** Called with the reason when an exchange is given up, synchronously. */
type InterruptionListener = (reason: GatewayError) => void

/**
 * Says whether an exchange was given up, and why: its caller left, or there is no money for it. Listeners are plain
 * functions, since an AbortSignal that combines the reasons took a tenth of the time of an undisturbed exchange. Only an
 * attempt has an AbortController, which fetch needs.
 */
export class Interruption {
  readonly #listeners: InterruptionListener[] = []
  #reason: GatewayError | undefined

  /** Why it was given up; undefined while it goes on. */
  get reason(): GatewayError | undefined {
    return this.#reason
  }

  /** Gives the exchange up. Only the first reason counts. */
  interrupt(reason: GatewayError): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    for (const listener of [...this.#listeners]) listener(reason)
  }

  /** Calls `listener` when the exchange is given up, or at once if it already was. */
  listen(listener: InterruptionListener): void {
    this.#listeners.push(listener)
    if (this.#reason !== undefined) listener(this.#reason)
  }

  unlisten(listener: InterruptionListener): void {
    const index = this.#listeners.indexOf(listener)
    if (index >= 0) this.#listeners.splice(index, 1)
  }
}

/** The interruption of an exchange whose caller leaves when `signal` aborts. */
export function interruptionBy(signal: AbortSignal): Interruption {
  const interruption = new Interruption()
  const interrupt = () => interruption.interrupt(reasonOf(signal))
  if (signal.aborted) interrupt()
  else signal.addEventListener('abort', interrupt)
  return interruption
}

/** The signal's reason if it is an error of ours; else the caller left. */
function reasonOf({ reason }: AbortSignal): GatewayError {
  return reason instanceof GatewayError ? reason : clientClosed()
}

/** The error of an exchange whose caller is gone, which goes before any other error; undefined: the caller is there. */
export function callerLeft(signal: AbortSignal): GatewayError | undefined {
  return signal.aborted ? clientClosed() : undefined
}

/** The error for a caller who left; only the log ever shows it. */
export function clientClosed(): GatewayError {
  return new GatewayError('client_closed', 'The caller left before the end of the answer')
}
