import type { Socket } from 'node:net'
import { frontOf } from '#tests/support/stores/front.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import type { Database } from '@/db/connect.ts'

/** Where a process is killed: at its so-many-th statement, before the database gets it, or when that has done it and has not told. */
export interface Death {
  statement: number
  isDone: boolean
}

/** A process's way to its database, on which it dies. */
export interface DyingFront {
  url: string
  /** How many statements were asked. */
  asked(): number
  dead: Promise<void>
  isDead(): boolean
  /** Resolves when the database has ended what a dead process asked. */
  gone(): Promise<void>
  /** The database is silent until it comes back, on new connections. */
  leave(): void
  comeBack(): void
  /** Takes no connection any more. */
  close(): void
}

const [SYNC, QUERY, READY] = [0x53, 0x51, 0x5a]
const TERMINATE = Buffer.from('X\0\0\0\x04')

/** Undefined: it lives. */
export async function dyingFrontOf(database: Database, death: Death | undefined): Promise<DyingFront> {
  const servers = new Set<Socket>()
  const dead = Promise.withResolvers<void>()
  let [asked, isDead, isAway] = [0, false, false]

  function die(): void {
    isDead = true
    front.close()
    front.cut()
    dead.resolve()
  }

  const front = await frontOf(database, (client, server) => {
    servers.add(server.on('close', () => servers.delete(server)))
    let isLast = false
    client.on('data', (chunk: Buffer) => {
      if (isDead || isAway) return
      if (asks(chunk)) asked += 1
      isLast ||= asks(chunk) && asked === death?.statement
      if (isLast && death?.isDone === false) die()
      else server.write(chunk)
    })
    server.on('data', (chunk: Buffer) => {
      if (isLast && chunk.at(-6) === READY) die()
      if (!isDead && !isLast && !isAway) client.write(chunk)
    })
    // The kernel closes what a killed process had open; the server ends what it does and then notices.
    client.on('close', () => server.end(TERMINATE))
    server.on('close', () => client.destroy())
  })

  return {
    url: front.addressOver(),
    asked: () => asked,
    dead: dead.promise,
    isDead: () => isDead,
    async gone() {
      await until(() => servers.size === 0)
    },
    leave() {
      isAway = true
    },
    comeBack() {
      isAway = false
      front.cut()
    },
    close: () => front.close(),
  }
}

/** Whether the messages of a client have a statement among them. */
function asks(messages: Buffer): boolean {
  for (let at = 0; at + 5 <= messages.length; at += 1 + messages.readInt32BE(at + 1)) {
    if (messages[at] === SYNC || messages[at] === QUERY) return true
  }
  return false
}
