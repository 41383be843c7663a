import type { LedgerStore } from './store.ts'

/** Under which id this process answers for its holds. */
export interface Presence {
  owner(): string
  /** Processes that are alive, this one included, as of the last heartbeat. */
  alive(): number
  /**
   * Tells the others that this process lives. If they took it for dead meanwhile, it goes on under a new id. Returns what the
   * time is by the clock of the database, in ms.
   */
  beat(): Promise<number>
  leave(): Promise<void>
}

/**
 * Tells the database of this process. Fails if it does not answer.
 * @param address where the process runs, for people
 */
export async function register(store: LedgerStore, address: string): Promise<Presence> {
  let owner = await enter()
  let alive = 1

  /** The id counts only once it is stored. */
  async function enter(): Promise<string> {
    const id = Bun.randomUUIDv7()
    await store.register(id, address)
    return id
  }

  return {
    owner: () => owner,
    alive: () => alive,
    async beat() {
      const found = await store.heartbeat(owner)
      if (found.alive > 0) alive = found.alive
      else owner = await enter()
      return found.nowMs
    },
    leave: () => store.leave(owner),
  }
}
