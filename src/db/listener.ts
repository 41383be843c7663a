import { openClient } from './connect.ts'

/** What is listened to (a NOTIFY channel), and who is told. */
interface ListenerOptions {
  channel: string
  onMessage(payload: string): void
  /** LISTEN stands (again). Messages sent while it did not are gone, so whatever was derived from them is stale. */
  onConnect(): void
  /** The connection was lost; until `onConnect` nothing is heard. */
  onLost(): void
}

/** A connection of its own that hears a NOTIFY channel, and connects anew by itself. */
interface Listener {
  close(): Promise<void>
}

const RETRY_MS = 500

/**
 * Listens on a NOTIFY channel over a connection of its own and reconnects for as long as it is open. (The client's own
 * `listen` gives up for good when its first reconnect fails.) Resolves when the first LISTEN stands.
 */
export async function openListener(url: string, options: ListenerOptions): Promise<Listener> {
  let closed = false
  let retry: ReturnType<typeof setTimeout> | undefined
  let client: ReturnType<typeof openClient> | undefined

  async function listen(): Promise<void> {
    const opened = openClient(url, {
      max: 1,
      applicationName: 'tollgate listener',
      onNotify: (_channel, payload) => options.onMessage(payload),
      onClose: () => lost(opened),
    })
    client = opened
    await opened`listen ${opened(options.channel)}`
    if (client === opened && !closed) options.onConnect()
  }

  function lost(which: ReturnType<typeof openClient>): void {
    if (closed || client !== which) return
    client = undefined
    options.onLost()
    void which.end({ timeout: 0 }).catch(() => undefined)
    retry = setTimeout(reconnect, RETRY_MS)
  }

  function reconnect(): void {
    listen().catch(() => {
      if (client !== undefined) lost(client)
    })
  }

  async function close(): Promise<void> {
    closed = true
    clearTimeout(retry)
    await client?.end({ timeout: 1 })
  }

  try {
    await listen()
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}
