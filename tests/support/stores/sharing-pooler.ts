import { createServer, type Socket } from 'node:net'

/** Bytes of the wire protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, ...fields: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(
    fields.map(field => (typeof field === 'string' ? Buffer.from(`${field}\0`) : field)),
  )
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.concat([int16(value >> 16), int16(value & 65_535)])
const ready = message('Z', Buffer.from('I'))
const TEXT = 25

/** What a server says to the statements by which a process looks whether it can use it. */
function answerTo(statement: string, session: number): string | undefined {
  if (statement.includes('server_version_num')) return '180000'
  return statement.includes('pg_backend_pid') ? String(session) : undefined
}

/**
 * Looks like Postgres behind a pooler that gives sessions to transactions, or to statements, and has so many of them: each
 * statement runs in the next. Returns its address.
 */
export async function sharingPooler(
  mode: 'transaction' | 'statement',
  sessions: number,
): Promise<{ url: string; close(): void }> {
  let statements = 0
  const server = createServer(socket => {
    let statement = ''
    readMessages(socket, (type, body) => {
      if (type === 'P') statement = body.toString().split('\0')[1] ?? ''
      if (type === 'Q' && mode === 'statement') socket.end()
      else answer(socket, type, answerTo(statement, statements % sessions))
      if (type === 'E') statements += 1
    })
  })
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { url: `postgres://user@127.0.0.1:${port}/x`, close: () => server.close() }
}

/** The first message, with which a session starts, has no type. */
function readMessages(socket: Socket, take: (type: string, body: Buffer) => void): void {
  let arrived = Buffer.alloc(0)
  let head = 0
  socket.on('error', () => undefined)
  socket.on('data', data => {
    arrived = Buffer.concat([arrived, Buffer.from(data)])
    while (arrived.length >= head + 4 && arrived.length >= head + arrived.readInt32BE(head)) {
      const end = head + arrived.readInt32BE(head)
      take(head === 0 ? 'start' : arrived.toString('latin1', 0, 1), arrived.subarray(head + 4, end))
      arrived = arrived.subarray(end)
      head = 1
    }
  })
}

function answer(socket: Socket, type: string, value: string | undefined): void {
  const column = [int32(0), int16(0), int32(TEXT), int16(-1), int32(-1), int16(0)]
  const columns = value === undefined ? [int16(0)] : [int16(1), 'value', ...column]
  const row = value === undefined ? [] : [message('D', int16(1), int32(value.length), Buffer.from(value))]
  switch (type) {
    case 'start':
      socket.write(Buffer.concat([message('R', int32(0)), ready]))
      break
    case 'Q':
      socket.write(Buffer.concat([message('C', 'BEGIN'), ready]))
      break
    case 'P':
      socket.write(message('1'))
      break
    case 'D':
      socket.write(Buffer.concat([message('t', int16(0)), message('T', ...columns)]))
      break
    case 'B':
      socket.write(message('2'))
      break
    case 'E':
      socket.write(Buffer.concat([...row, message('C', 'SELECT')]))
      break
    case 'S':
      socket.write(ready)
  }
}
