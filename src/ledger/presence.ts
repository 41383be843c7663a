import type { LedgerStore } from './store.ts'

/** Under which id this process answers for its holds. */
export interface Presence {
  owner(): string
  /** Processes that are alive, this one included, as of the last heartbeat. */
  alive(): number
  /** Tells the others that this process lives. If they took it for dead meanwhile, it goes on under a new id. */
  beat(): Promise<void>
  leave(): Promise<void>
}

/** Who this process is to the others. */
export interface PresenceOptions {
  store(): LedgerStore
  /** Where the process runs, for people. */
  address: string
}

/** Tells the database of this process. Fails if it does not answer. */
export async function register(options: PresenceOptions): Promise<Presence> {
  let owner = await enter()
  let alive = 1

  /** The id counts only once it is stored. */
  async function enter(): Promise<string> {
    const id = Bun.randomUUIDv7()
    await options.store().register(id, options.address)
    return id
  }

  return {
    owner: () => owner,
    alive: () => alive,
    async beat() {
      const found = await options.store().heartbeat(owner)
      if (found > 0) alive = found
      else owner = await enter()
    },
    leave: () => options.store().leave(owner),
  }
}
