import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { BodyRoom } from '@/limits/body-room.ts'

const ANN = 1
const BOB = 2
const CID = 3

const MEGABYTE = 1024 * 1024
/** What is one in the tests of large bodies: more than any small one has. */
const UNIT = 10 * MEGABYTE

/** A process that has touched 100 units. */
function underTest(most: number) {
  const { clock, seen, room: ofBytes } = inBytes(most * UNIT, 100 * UNIT)
  const room = {
    take: (units: number, account: number, before = 0) => ofBytes.take(units * UNIT, account, before * UNIT),
    giveBack: (units: number, account: number) => ofBytes.giveBack(units * UNIT, account),
    get isShort() {
      return ofBytes.isShort
    },
  }
  return {
    clock,
    room,
    ofBytes,
    seen: {
      set usedBytes(units: number) {
        seen.usedBytes = units * UNIT
      },
      get refused() {
        return seen.refused
      },
    },
  }
}

function inBytes(mostBytes: number, usedBytes: number) {
  const clock = manualClock()
  const seen = { usedBytes, refused: 0 }
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

test('a body that finds no more room keeps what it has', () => {
  const { room } = underTest(400)
  expect(room.take(100, ANN)).toBe(true)
  expect(room.take(60, ANN, 100)).toBe(false)
  expect(room.take(1, BOB)).toBe(false)
})

test('memory is short where no more than the spare quarter of it is left', () => {
  const { room, seen } = underTest(400)
  seen.usedBytes = 300
  expect(room.isShort).toBe(false)
  seen.usedBytes = 301
  expect(room.isShort).toBe(true)
})

test.each([
  [200, 150],
  [256, 195],
  [512, 390],
])('in %d MB of which %d are used, small bodies of several accounts are let in at once', (most, used) => {
  const { room } = inBytes(most * MEGABYTE, used * MEGABYTE)
  expect([ANN, BOB, CID].map(account => room.take(100_000, account))).toEqual([true, true, true])
})

test.each([0, 1, 1.5])(
  'nine hundred small bodies of one account that never end, and have touched %d times their size by then, leave room for the next account',
  copies => {
    const most = 900 * MEGABYTE
    const { room, seen } = inBytes(most, 150 * MEGABYTE)
    const letIn = Array.from({ length: 900 }, () => room.take(MEGABYTE, ANN)).filter(Boolean).length
    expect(letIn).toBeGreaterThan(100)
    seen.usedBytes += copies * letIn * MEGABYTE
    expect(seen.usedBytes + 2 * letIn * MEGABYTE).toBeLessThan(most)
    expect(Array.from({ length: 20 }, () => room.take(MEGABYTE, BOB))).not.toContain(false)
  },
)

test("one account's small bodies have half of what others leave", () => {
  const { room } = inBytes(100 * MEGABYTE, 0)
  const letIn = Array.from({ length: 30 }, () => room.take(MEGABYTE, ANN)).filter(Boolean)
  expect(letIn).toHaveLength(25)
})

test('small bodies are refused where nothing is left, but for the first megabyte of each account', () => {
  const { room, seen } = inBytes(400 * MEGABYTE, 401 * MEGABYTE)
  const half = MEGABYTE / 2
  expect([half, half, 1].map(bytes => room.take(bytes, ANN))).toEqual([true, true, false])
  expect(room.take(MEGABYTE, BOB)).toBe(true)
  expect(seen.refused).toBe(1)
  room.giveBack(half, ANN)
  expect(room.take(half, ANN)).toBe(true)
})

test('a large body that has all that is left, and may crawl, keeps nobody from sending small ones', () => {
  const { room, ofBytes } = underTest(400)
  expect(room.take(150, ANN)).toBe(true)
  expect([ANN, BOB].map(account => ofBytes.take(MEGABYTE, account))).toEqual([true, true])
})

test('small bodies count as well where a large one asks, until they were read, but it still comes alone', () => {
  const { room, ofBytes } = underTest(400)
  expect(ofBytes.take(MEGABYTE, ANN)).toBe(true)
  expect(room.take(150, BOB)).toBe(false)
  expect(room.take(149, BOB)).toBe(true)
  room.giveBack(149, BOB)
  ofBytes.giveBack(MEGABYTE, ANN)
})

test('a body that comes in pieces is a large one from a megabyte on, and has taken its room once', () => {
  const { room, clock, ofBytes } = underTest(400)
  expect(ofBytes.take(MEGABYTE, ANN)).toBe(true)
  expect(ofBytes.take(149 * UNIT, ANN, MEGABYTE)).toBe(true)
  expect(room.take(1, BOB)).toBe(false)
  ofBytes.giveBack(149 * UNIT + MEGABYTE, ANN)
  clock.advance(1_000)
  expect(room.take(150, BOB)).toBe(true)
})

test('what is made of bodies has half of what other accounts leave, and is used, not expected, by then', () => {
  const { room, seen } = inBytes(500 * MEGABYTE, 100 * MEGABYTE)
  expect(room.takeMade(80 * MEGABYTE, ANN)).toBe(true)
  seen.usedBytes += 160 * MEGABYTE
  expect(room.takeMade(21 * MEGABYTE, ANN)).toBe(false)
  expect(seen.refused).toBe(1)
  expect(room.takeMade(20 * MEGABYTE, ANN)).toBe(true)
  seen.usedBytes += 40 * MEGABYTE
  expect([51, 50].map(megabytes => room.takeMade(megabytes * MEGABYTE, BOB))).toEqual([false, true])
  room.giveBackMade(80 * MEGABYTE, ANN)
  seen.usedBytes -= 60 * MEGABYTE
  expect(room.takeMade(45 * MEGABYTE, ANN)).toBe(true)
})

test('what is made of the first megabyte of each account always has room, and of more where there is some', () => {
  const { room, seen } = inBytes(400 * MEGABYTE, 401 * MEGABYTE)
  expect([ANN, BOB, ANN].map(account => room.takeMade(MEGABYTE, account))).toEqual([true, true, false])
  room.giveBackMade(MEGABYTE, ANN)
  expect(room.takeMade(MEGABYTE, ANN)).toBe(true)
  seen.usedBytes = 300 * MEGABYTE
  expect(room.takeMade(MEGABYTE, BOB)).toBe(true)
})

test('what is made of the only large body has room beside what that was expected to touch itself', () => {
  const { room, seen } = inBytes(400 * MEGABYTE, 200 * MEGABYTE)
  expect(room.take(32 * MEGABYTE, ANN)).toBe(true)
  seen.usedBytes += 32 * MEGABYTE
  room.giveBack(32 * MEGABYTE, ANN)
  expect(room.takeMade(32 * MEGABYTE, ANN)).toBe(true)
})

test("what is made of an account's bodies has no room from those that another sent, until they are used", () => {
  const { room, seen, clock } = inBytes(400 * MEGABYTE, 200 * MEGABYTE)
  expect(room.take(32 * MEGABYTE, ANN)).toBe(true)
  room.giveBack(32 * MEGABYTE, ANN)
  seen.usedBytes += 64 * MEGABYTE
  expect([19, 18].map(megabytes => room.takeMade(megabytes * MEGABYTE, BOB))).toEqual([false, true])
  room.giveBackMade(18 * MEGABYTE, BOB)
  clock.advance(1_000)
  expect([35, 34].map(megabytes => room.takeMade(megabytes * MEGABYTE, BOB))).toEqual([false, true])
})
