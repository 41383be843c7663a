import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'

/** The only name of its certificate. */
export const PINNED_NAME = 'api.example.test'

/** An HTTPS server on loopback whose certificate is for a name that no resolver knows. */
interface PinnedServer {
  /** By its address. */
  url: string
  /** So far. */
  connections: number
  /** The names that clients asked for in their hellos. */
  names: Set<unknown>
  /** How to dial it as a host of this name; it is its own authority. */
  tlsOf(serverName: string): { serverName: string; ca: string }
  close(): void
}

export async function servePinned(answer: RequestListener): Promise<PinnedServer> {
  const read = (file: string) => Bun.file(join(import.meta.dir, file)).text()
  const [key, cert] = await Promise.all([read('pinned.key.pem'), read('pinned.cert.pem')])
  const server = createServer({ key, cert }, answer)
  const pinned: PinnedServer = {
    url: '',
    connections: 0,
    names: new Set(),
    tlsOf: serverName => ({ serverName, ca: cert }),
    close: () => void server.close(),
  }
  server.on('secureConnection', socket => {
    pinned.connections += 1
    pinned.names.add('servername' in socket ? socket.servername : undefined)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  pinned.url = `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  return pinned
}
