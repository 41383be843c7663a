import { expect, test } from 'bun:test'
import { Gate } from '@/console/gate.ts'

/** A gate, and who was let in, who stays inside until somebody leaves. */
function watched(crowd: { waiting: number; each?: number; many?: number }) {
  const gate = new Gate({ atOnce: 2, each: 2, many: 100, refusal: 'too many', ...crowd })
  const inside: PromiseWithResolvers<void>[] = []
  const entered: number[] = []
  const enter = (who: number, options?: { refusable: boolean }) => {
    const work = () => {
      entered.push(who)
      const stay = Promise.withResolvers<void>()
      inside.push(stay)
      return stay.promise
    }
    return gate.pass(who, work, options)
  }
  const leave = async () => {
    inside.shift()?.resolve()
    await new Promise(setImmediate)
  }
  return { entered, inside, enter, leave }
}

test('each asker who waits has a turn, however many of another wait before', async () => {
  const { entered, inside, enter, leave } = watched({ waiting: 20 })
  const all = [1, 1, 1, 1, 1, 1, 2, 2, 3].map(who => enter(who))
  expect(entered).toEqual([1, 1])
  for (const _ of all) {
    await leave()
    expect(inside.length).toBeLessThanOrEqual(2)
  }
  expect(entered).toEqual([1, 1, 1, 2, 3, 1, 2, 1, 1])
  await Promise.all(all)
  const again = [4, 4, 4].map(who => enter(who))
  expect(inside).toHaveLength(2)
  for (const _ of again) await leave()
  await Promise.all(again)
})

test('who has too many waiting is refused, and neither another nor what has begun', async () => {
  const { entered, enter, leave } = watched({ waiting: 1 })
  const all = [enter(1), enter(1), enter(1)]
  await expect(enter(1)).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 5_000 })
  all.push(enter(1, { refusable: false }), enter(2))
  for (const _ of all) await leave()
  await Promise.all(all)
  expect(entered).toEqual([1, 1, 1, 2, 1])
})

test('one asker never has every place, and another who comes later waits for none of theirs', async () => {
  const { entered, inside, enter, leave } = watched({ waiting: 20, each: 1 })
  const all = [enter(1), enter(1), enter(1)]
  expect(entered).toEqual([1])
  all.push(enter(2), enter(2), enter(3))
  expect(entered).toEqual([1, 2])
  // The longest work is that of 1, who came first.
  const [longest] = inside.splice(0, 1)
  await leave()
  await leave()
  expect(entered).toEqual([1, 2, 2, 3])
  longest?.resolve()
  await leave()
  await leave()
  await leave()
  await Promise.all(all)
  expect(entered).toEqual([1, 2, 2, 3, 1, 1])
})

test('where many wait one of each asker may', async () => {
  const { entered, enter, leave } = watched({ waiting: 3, many: 4 })
  const all = [1, 1, 1, 1, 1, 2].map(who => enter(who))
  for (const who of [1, 2]) await expect(enter(who)).rejects.toMatchObject({ code: 'unavailable' })
  all.push(enter(3))
  await expect(enter(3)).rejects.toMatchObject({ code: 'unavailable' })
  for (const _ of all) await leave()
  await Promise.all(all)
  expect(entered).toEqual([1, 1, 1, 2, 3, 1, 1])
})

test('a place is handed on by work that fails', async () => {
  const gate = new Gate({ atOnce: 1, each: 1, waiting: 1, many: 1, refusal: 'too many' })
  const failed = gate.pass(1, () => Promise.reject(new Error('no luck')))
  const next = gate.pass(1, async () => 'in')
  await expect(failed).rejects.toThrow('no luck')
  expect(await next).toBe('in')
  expect(await gate.pass(1, async () => 'in')).toBe('in')
})
