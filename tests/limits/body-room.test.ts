import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { BodyRoom } from '@/limits/body-room.ts'

const ANN = 1
const BOB = 2
const CID = 3

function underTest(mostBytes: number) {
  const clock = manualClock()
  const seen = { usedBytes: 100, refused: 0 }
  const room = new BodyRoom({
    clock,
    usedBytes: () => seen.usedBytes,
    mostBytes,
    onRefused: () => {
      seen.refused += 1
    },
  })
  return { clock, seen, room }
}

test('bodies find room, twice their size each, in three quarters of the memory less what is used', () => {
  const { room, seen } = underTest(400)
  expect(room.take(60, ANN)).toBe(true)
  expect(room.take(31, BOB)).toBe(false)
  expect(seen.refused).toBe(1)
  expect(room.take(30, BOB)).toBe(true)
  expect(room.take(1, CID)).toBe(true)
})

test('one that comes alone may have the spare memory as well, also where it comes in pieces', () => {
  const { room } = underTest(400)
  expect(room.take(100, ANN)).toBe(true)
  expect(room.take(1, BOB)).toBe(false)
  expect(room.take(50, ANN, 100)).toBe(true)
  expect(room.take(1, ANN, 150)).toBe(false)
})

test('what shows at once counts no more when it was read', () => {
  const { room } = underTest(400)
  expect(room.take(60, ANN)).toBe(true)
  expect(room.take(31, BOB)).toBe(false)
  room.giveBack(60, ANN, true)
  expect(room.take(31, BOB)).toBe(true)
})

test('what was read counts until the memory that it took can be seen, and then as that', () => {
  const { room, clock, seen } = underTest(400)
  expect(room.take(100, ANN)).toBe(true)
  room.giveBack(100, ANN)
  clock.advance(999)
  expect(room.take(1, BOB)).toBe(false)
  clock.advance(1)
  seen.usedBytes = 294
  expect(room.take(1, ANN)).toBe(true)
  expect(room.take(1, BOB)).toBe(true)
  expect(room.take(1, ANN)).toBe(false)
})

test('accounts whose bodies do not come leave a quarter of what they found to the next, and have their own again afterwards', () => {
  const { room, clock } = underTest(400)
  expect(room.take(50, ANN)).toBe(true)
  expect(room.take(25, ANN)).toBe(true)
  expect(room.take(1, ANN)).toBe(false)
  expect(room.take(19, BOB)).toBe(false)
  expect(room.take(18, BOB)).toBe(true)
  expect(room.take(1, BOB)).toBe(false)
  expect(room.take(5, CID)).toBe(true)
  room.giveBack(25, ANN)
  clock.advance(1_000)
  expect(room.take(8, ANN)).toBe(false)
  expect(room.take(7, ANN)).toBe(true)
})

test('an account whose bodies were all read finds as much room as one that had none', () => {
  const { room, clock } = underTest(400)
  expect(room.take(50, ANN)).toBe(true)
  room.giveBack(50, ANN)
  expect(room.take(10, BOB)).toBe(true)
  clock.advance(1_000)
  expect([68, 67].map(bytes => room.take(bytes, ANN))).toEqual([false, true])
})

test('memory is short where no more than the spare quarter of it is left', () => {
  const { room, seen } = underTest(400)
  seen.usedBytes = 300
  expect(room.isShort).toBe(false)
  seen.usedBytes = 301
  expect(room.isShort).toBe(true)
})
