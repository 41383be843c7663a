import type { Clock } from '@/clock/clock.ts'
import type { Database } from '@/db/connect.ts'
import { openListener } from '@/db/listener.ts'
import type { Catalog, Model } from '@/routing/model.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { type Defaults, loadDefaults } from './defaults.ts'
import { CATALOG_TOPIC, loadCatalog } from './store.ts'

/** Reloading this often bounds how long a change that no message told can stay unseen. */
const RELOAD_MS = 30_000

/** What the catalog is read with. */
interface LiveCatalogOptions {
  db: Database
  secretBox: SecretBox
  clock: Clock
  /** A reload failed; the catalog stays as it was. */
  onError(error: unknown): void
}

/** The catalog of a running server: always whole, swapped at once. */
export interface LiveCatalog extends Catalog {
  /** What holds where nothing else is said, as the operator last said it. */
  defaults(): Defaults
  /** Calls the listener with each catalog that takes the place of another. */
  onReload(listener: (catalog: Catalog) => void): void
  /** Resolves when everything committed before the call is visible. */
  reload(): Promise<void>
  close(): Promise<void>
}

/** Loads the catalog and keeps it as new as the database. Fails if the first load does. */
export async function openLiveCatalog(options: LiveCatalogOptions): Promise<LiveCatalog> {
  const { db, secretBox, clock, onError } = options
  let current = await loadCatalog(db, secretBox)
  let defaults = await loadDefaults(db)
  const listeners: ((catalog: Catalog) => void)[] = []
  const loads = new SharedRuns(async () => {
    current = await loadCatalog(db, secretBox)
    defaults = await loadDefaults(db)
    for (const listener of listeners) listener(current)
  })
  const refresh = (): void => {
    loads.run().catch(onError)
  }
  const stopTimer = clock.every(RELOAD_MS, refresh)
  const listener = await openListener(db.url, {
    channel: CATALOG_TOPIC,
    onMessage: refresh,
    onConnect: refresh,
    onLost: () => undefined,
  })
  return {
    find: (name: string): Model | undefined => current.find(name),
    list: () => current.list(),
    channels: () => current.channels(),
    defaults: () => defaults,
    onReload: listener => {
      listeners.push(listener)
    },
    reload: () => loads.run(),
    async close() {
      stopTimer()
      await listener.close()
      await loads.ended()
    },
  }
}

/** Runs something one at a time. Calls during a run share the next one, since this one may have read before the change. */
class SharedRuns {
  readonly #once: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(once: () => Promise<void>) {
    this.#once = once
  }

  /** Resolves at the end of a run that began after this call. */
  run(): Promise<void> {
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) {
      this.#running = this.#once().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next = this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.run()
      })
    return this.#next
  }

  /** Resolves when what was asked for has run, well or not. */
  async ended(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next])
  }
}
