import { describe, expect, spyOn, test } from 'bun:test'
import { connect, createServer } from 'node:net'
import { manualClock } from '#tests/support/manual-clock.ts'
import { AnswerQueue } from '@/exchange/answer-queue.ts'

/** A queue in which so many wait, and the names of those that have gone. */
function queueOf(count: number) {
  const clock = manualClock()
  const queue = new AnswerQueue(clock)
  const gone: number[] = []
  const add = async (name: number) => {
    await queue.turn()
    gone.push(name)
  }
  for (let name = 0; name < count; name += 1) void add(name)
  return { clock, gone, add }
}

/** More than begin while the slowest machine sends a byte to itself. */
const MANY = 2_000_000

const oneTurn = () => new Promise(resolve => setImmediate(resolve))

describe('answers that come at once', () => {
  test('begin in their order, four in a turn of the loop', async () => {
    const { gone, add } = queueOf(10)
    await Promise.resolve()
    expect(gone).toEqual([0, 1, 2, 3])
    await oneTurn()
    expect(gone).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    void add(10)
    await oneTurn()
    expect(gone).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('begin at once where no other has begun in this turn', async () => {
    const { gone, add } = queueOf(5)
    for (let name = 5; name < 8; name += 1) {
      await oneTurn()
      await oneTurn()
      void add(name)
      await Promise.resolve()
      expect(gone.at(-1)).toBe(name)
    }
  })

  test('begin together where they have waited for 20 ms', async () => {
    const { clock, gone, add } = queueOf(100)
    clock.advance(19)
    await oneTurn()
    expect(gone).toHaveLength(8)
    for (let name = 100; name < 110; name += 1) void add(name)
    clock.advance(1)
    await oneTurn()
    expect(gone).toHaveLength(100)
    await oneTurn()
    expect(gone).toHaveLength(104)
  })

  test('keep the loop turning until the last of them has begun, and no longer', async () => {
    const { gone } = queueOf(10)
    for (let turn = 0; turn < 4; turn += 1) await oneTurn()
    expect(gone).toHaveLength(10)
    const later = spyOn(globalThis, 'setImmediate')
    await oneTurn()
    await oneTurn()
    // These two.
    expect(later).toHaveBeenCalledTimes(2)
    later.mockRestore()
  })

  test('let sockets be read between them', async () => {
    const server = createServer(socket => socket.pipe(socket)).listen(0, '127.0.0.1')
    const { promise: told, resolve } = Promise.withResolvers<number>()
    try {
      await new Promise(listening => server.once('listening', listening))
      const address = server.address()
      const port = address !== null && typeof address === 'object' ? address.port : 0
      const socket = connect(port, '127.0.0.1')
      await new Promise(connected => socket.once('connect', connected))
      const { gone, add } = queueOf(100)
      let isRead = false
      // One more for each that has begun: how many turns the bytes are on their way is for the machine to say.
      const others = async () => {
        while (!isRead && gone.length < MANY) await add(gone.length)
      }
      const running = Array.from({ length: 100 }, others)
      socket.once('data', () => {
        isRead = true
        resolve(gone.length)
      })
      socket.write('x')
      expect(await told).toBeLessThan(MANY)
      await Promise.all(running)
      socket.destroy()
    } finally {
      server.close()
    }
  })
})
