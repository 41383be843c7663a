import type { Socket } from 'bun'

/** An answer as it came over the wire. */
interface SwarmAnswer {
  /** 0: the connection was closed without an answer. */
  status: number
  /** Head and body. */
  text: string
}

interface Caller {
  text: string
  done: (answer: SwarmAnswer) => void
  answer: Promise<SwarmAnswer>
}

/** Connections that are opened together: more at once than a listener queues are tried again a second later. */
const WAVE = 250

/**
 * Thousands of callers at once, each on a connection of its own: all are connected before the first one sends.
 * Bun's fetch runs 256 requests at once.
 */
export async function swarm(urls: readonly string[], count: number, request: string): Promise<SwarmAnswer[]> {
  const sockets: Socket<Caller>[] = []
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(WAVE, count - sockets.length) }, (_, index) =>
      open(urls[(sockets.length + index) % urls.length] ?? ''),
    )
    sockets.push(...(await Promise.all(wave)))
  }
  for (const socket of sockets) socket.write(request)
  const answers = await Promise.all(sockets.map(socket => socket.data.answer))
  for (const socket of sockets) socket.end()
  return answers
}

function open(url: string): Promise<Socket<Caller>> {
  const { hostname, port } = new URL(url)
  const { promise: answer, resolve: done } = Promise.withResolvers<SwarmAnswer>()
  const finish = ({ data }: Socket<Caller>) =>
    data.done({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(data.text)?.[1] ?? 0), text: data.text })
  return Bun.connect<Caller>({
    hostname,
    port: Number(port),
    data: { text: '', done, answer },
    socket: {
      data(socket, chunk) {
        socket.data.text += chunk.toString('latin1')
        if (isWhole(socket.data.text)) finish(socket)
      },
      close: finish,
      error: finish,
    },
  })
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
  return head > 0 && length !== undefined && text.length >= head + 4 + Number(length)
}

/** A Chat Completions call as bytes on the wire. */
export function chatRequest(key: string, body: string): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
