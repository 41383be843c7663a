import type { Authenticate } from '@/accounts/authenticate.ts'
import type { Clock } from '@/clock/clock.ts'
import { type Place, Roll } from '@/clock/roll.ts'
import { type Interruption, interruptionBy } from '@/exchange/interruption.ts'
import { endOfAccess } from './authentication.ts'

/** How often their keys are looked at, as often as the ledger looks at those of running answers. */
const LOOK_MS = 2_000

/** Knows how long a request is answered. */
interface Sockets {
  isOpen(request: Request): boolean
}

/** A caller who follows, until they leave or may be given no more. */
interface Follower {
  request: Request
  sockets: Sockets
  interruption: Interruption
}

/**
 * Callers who are given for a while what they hold no money for: a response that runs in the background, an answer that was
 * given before, a film. The ledger, which ends running answers, knows nothing of them.
 */
export class Followers {
  readonly #authenticate: Authenticate
  readonly #followers = new Roll<Follower>()
  readonly #stop: () => void

  constructor(authenticate: Authenticate, clock: Pick<Clock, 'every'>) {
    this.#authenticate = authenticate
    this.#stop = clock.every(LOOK_MS, () => {
      for (const place of this.#followers) void this.#look(place)
    })
  }

  /** Its caller is looked at for as long as the request is open. */
  follow(request: Request, sockets: Sockets): Interruption {
    const interruption = interruptionBy(request.signal)
    this.#followers.add({ request, sockets, interruption })
    return interruption
  }

  stop(): void {
    this.#stop()
  }

  async #look(place: Place<Follower>): Promise<void> {
    if (place.item === undefined) return
    const { request, sockets, interruption } = place.item
    if (!sockets.isOpen(request)) return this.#followers.remove(place)
    const end = await endOfAccess(this.#authenticate, request)
    if (end !== undefined) interruption.interrupt(end)
  }
}
