import { describe, expect, test } from 'bun:test'
import { closeSync, openSync } from 'node:fs'
import { manualClock } from '#tests/support/manual-clock.ts'
import { FEW_FILES, fileLimit, HIGH_LAG_MS, LOW_LAG_MS, Load, openFiles } from '@/limits/load.ts'

const SAMPLE_MS = 250

function underTest({ maxFiles = 1_000 } = {}) {
  const clock = manualClock()
  let lateMs = 0
  let draw = 0
  const open = { sockets: 1, others: 10, toCome: 0 }
  const load = new Load({
    // Timers of the manual clock are never late.
    clock: { every: clock.every, elapsed: () => clock.elapsed() + lateMs },
    random: () => draw,
    openSockets: () => open.sockets,
    neededSockets: () => open.sockets + open.toCome,
    openFiles: () => open.sockets + open.others,
    maxFiles,
  })
  return {
    load,
    open,
    /** So many looks at the event loop, each of them so late. */
    late(ms: number, looks: number) {
      for (let look = 0; look < looks; look += 1) {
        lateMs += ms
        clock.advance(SAMPLE_MS)
      }
    },
    /** How much of new work is turned away, by asking at every hundredth of the draw. */
    refused() {
      const draws = Array.from({ length: 100 }, (_, index) => index / 100)
      return draws.filter(at => {
        draw = at
        return load.overload() === 'event-loop'
      }).length
    },
  }
}

describe('an event loop that is late', () => {
  test('for seconds on end turns away more and more, up to everything', () => {
    const { late, refused } = underTest()
    late(HIGH_LAG_MS + 1, 9)
    expect(refused()).toBe(0)
    late(HIGH_LAG_MS + 1, 1)
    expect(refused()).toBe(10)
    late(HIGH_LAG_MS + 1, 4)
    expect(refused()).toBe(50)
    late(HIGH_LAG_MS + 1, 20)
    expect(refused()).toBe(100)
  })

  test('for however long has room again as soon as it is on time', () => {
    const { late, refused } = underTest()
    late(HIGH_LAG_MS + 1, 60)
    late(0, 6)
    expect(refused()).toBe(90)
  })

  test('once, however long, turns nobody away: the pause is over', () => {
    const { late, refused } = underTest()
    late(0, 10)
    late(60_000, 1)
    late(0, 3)
    expect(refused()).toBe(0)
  })

  test('and then less so keeps the share; on time again gives it back by and by', () => {
    const { late, refused } = underTest()
    late(HIGH_LAG_MS + 1, 14)
    late((HIGH_LAG_MS + LOW_LAG_MS) / 2, 20)
    const kept = refused()
    expect(kept).toBeGreaterThanOrEqual(50)
    late(0, 6)
    expect(refused()).toBe(kept - 10)
    late(0, 30)
    expect(refused()).toBe(0)
  })

  test('is told to whoever reads the metrics', () => {
    const { load, late } = underTest()
    late(1_200, 12)
    expect(load.reading()).toEqual({ lagMs: 1_200, refusedShare: 0.3, filesShare: 0.011 })
  })
})

describe('open files', () => {
  test('leave no room for new work when there are as many as there can be, and again when others are closed', () => {
    const { load, open } = underTest({ maxFiles: 16 })
    const answers = [3, 4, 3].map(sockets => {
      open.sockets = sockets
      return load.overload()
    })
    expect(answers).toEqual([undefined, 'sockets', undefined])
  })

  test('that requests have yet to open leave none to others: who comes in a burst is let in before any is there', () => {
    const { load, open, late } = underTest({ maxFiles: 1_000 })
    open.sockets = 400
    late(0, 1)
    open.toCome = 400
    expect(load.overload()).toBeUndefined()
    open.toCome = 600
    expect(load.overload()).toBe('sockets')
  })

  test('that are no sockets of requests count from the next look on', () => {
    const { load, open, late } = underTest({ maxFiles: 256 })
    open.others = 255
    late(0, 1)
    expect(load.overload()).toBe('sockets')
    open.others = 100
    late(0, 1)
    expect(load.overload()).toBeUndefined()
  })

  test('are scarce for connections at rest before they are for new work', () => {
    const { load, open, late } = underTest({ maxFiles: 1_000 })
    expect(load.isCrowded).toBe(false)
    open.others = 800
    late(0, 1)
    expect([load.isCrowded, load.overload()]).toEqual([true, undefined])
    open.others = 700
    late(0, 1)
    expect(load.isCrowded).toBe(false)
  })

  test('are counted anew with each answer where there can be few: a burst takes them between two looks', () => {
    const few = underTest({ maxFiles: 256 })
    few.open.others = 220
    expect(few.load.isCrowded).toBe(true)
    const many = underTest({ maxFiles: FEW_FILES })
    many.open.others = FEW_FILES
    expect(many.load.isCrowded).toBe(false)
  })

  test('are told to whoever reads the metrics, as a share of those that there can be', () => {
    const { load, open, late } = underTest({ maxFiles: 100 })
    expect(load.reading().filesShare).toBe(0.11)
    open.others = 79
    late(0, 1)
    expect(load.reading().filesShare).toBe(0.8)
  })

  test('are counted as the system has them', () => {
    const before = openFiles()
    const files = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'))
    expect(openFiles() - before).toBeGreaterThanOrEqual(15)
    for (const file of files) closeSync(file)
    expect(openFiles('/proc/nowhere')).toBe(0)
  })

  test.each([
    [
      'Limit Soft Hard Units\nMax open files            20000                20000                files\n',
      20_000,
    ],
    ['Max open files            unlimited            unlimited            files\n', Number.POSITIVE_INFINITY],
    ['', Number.POSITIVE_INFINITY],
  ])('are limited by what the system says: %j', (limits, most) => {
    expect(fileLimit(() => limits)).toBe(most)
  })

  test('are not limited where the system says nothing', () => {
    const missing = () => {
      throw new Error('ENOENT')
    }
    expect(fileLimit(missing)).toBe(Number.POSITIVE_INFINITY)
  })
})
