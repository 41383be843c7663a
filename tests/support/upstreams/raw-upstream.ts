import { createServer, type Socket } from 'node:net'

/** A request as it came over one connection of an upstream. */
export interface RawRequest {
  socket: Socket
  /** Which request of its connection it is, from 0. */
  nth: number
}

/** An upstream on bare sockets, for what no lawful server does: closing, resetting, half an answer. */
interface RawUpstream {
  url: string
  /** Requests that arrived whole. */
  requests: number
  connections: number
  stop(): Promise<void>
}

/** Calls `answer` with each request that has arrived with its whole body. */
export async function rawUpstream(answer: (request: RawRequest) => void): Promise<RawUpstream> {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    upstream.connections += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {})
    let nth = 0
    let text = ''
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      for (let length = wholeLength(text); length !== undefined; length = wholeLength(text)) {
        text = text.slice(length)
        upstream.requests += 1
        answer({ socket, nth })
        nth += 1
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const upstream: RawUpstream = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    requests: 0,
    connections: 0,
    async stop() {
      for (const socket of open) socket.destroy()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
  return upstream
}

/** How long the first request of a text is; undefined while it is not all there. */
function wholeLength(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const body = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0)
  return text.length >= head + 4 + body ? head + 4 + body : undefined
}

/** A whole answer of one connection that stays open. */
export function rawAnswer(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
