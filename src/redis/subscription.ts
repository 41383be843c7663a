import { createClient } from './redis.ts'

/** Who is told what a subscription hears. */
interface SubscriptionOptions {
  onMessage: (message: string) => void
  /** Told of each connection failure; messages of the meantime are lost. */
  onError?: (error: Error) => void
}

/** Listens to one topic for as long as it is open, reconnecting by itself. */
interface Subscription {
  /** Resolves once messages arrive; never, if there is no server. */
  listening: Promise<void>
  close(): void
}

/** Opens a connection of its own, since a connection that listens can do nothing else. */
export function openSubscription(url: string, topic: string, options: SubscriptionOptions): Subscription {
  const { onMessage, onError = () => {} } = options
  const client = createClient(url)
  const { promise, resolve } = Promise.withResolvers<void>()
  client.on('error', onError)
  client.on('message', (_topic: string, message: string) => onMessage(message))
  client.on('ready', () => {
    client.subscribe(topic).then(() => resolve(), onError)
  })
  return { listening: promise, close: () => client.disconnect() }
}
