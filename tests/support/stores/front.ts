import { connect as connectTo, createServer, type Socket } from 'node:net'
import type { Database } from '@/db/connect.ts'

/** A way to the server of a database by TCP, of which a test decides what goes through. */
interface Front {
  /** As `host:port`. */
  host: string
  /** The database's address over it, or over a list of hosts. */
  addressOver(hosts?: string): string
  /** Cuts every connection. */
  cut(): void
  /** As of a server that is stopped: it reads no more, so not even that the other end has closed. */
  freeze(): void
  /** Takes no connection any more. */
  close(): void
}

/** @param join what goes through between a client and the server; all of it, unless said */
export async function frontOf({ url }: Pick<Database, 'url'>, join = joinAll): Promise<Front> {
  const { searchParams, hostname, port, username, password, pathname } = new URL(url)
  const directory = searchParams.get('host')
  const target =
    directory === null
      ? { host: hostname, port: Number(port === '' ? 5432 : port) }
      : { path: `${directory}/.s.PGSQL.5432` }
  const open = new Set<Socket>()
  const server = createServer(socket => {
    const onward = connectTo(target).on('error', () => undefined)
    open.add(socket.on('error', () => undefined).on('close', () => open.delete(socket)))
    join(socket, onward)
  })
  const { promise: listening, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await listening
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const user = password === '' ? username : `${username}:${password}`
  return {
    host,
    addressOver: (hosts = host) => `postgres://${user}@${hosts}${pathname}`,
    cut() {
      for (const socket of open) socket.destroy()
    },
    freeze() {
      for (const socket of open) socket.unpipe().pause()
    },
    close: () => void server.close(),
  }
}

function joinAll(client: Socket, server: Socket): void {
  client.pipe(server).pipe(client)
}
