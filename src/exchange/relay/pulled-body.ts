import { untilRead } from './caller-stream.ts'

/** The next bytes of a body, or how it ended. */
export type BodyRead = Uint8Array | 'closed' | 'broken'

/** A body that is asked for its bytes when the socket has room for them; `leave` is called when nobody wants more. */
export function pulledBody(next: () => Promise<BodyRead>, leave: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const read = await next().catch(() => 'broken' as const)
        if (read === 'closed') return controller.close()
        if (read !== 'broken') return controller.enqueue(read)
        await untilRead()
        // Bun breaks the connection whatever the reason is, and prints it unless it is null.
        controller.error(null)
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
