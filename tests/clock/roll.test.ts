import { edenGC, fullGC } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { Roll } from '@/clock/roll.ts'

test('goes through those who are there, in the order in which they came', () => {
  const roll = new Roll<string>()
  const [first, second, third] = [roll.add('first'), roll.add('second'), roll.add('third')]
  roll.remove(first)
  roll.remove(first)
  const seen: (string | undefined)[] = []
  for (const { item } of roll) {
    seen.push(item)
    roll.remove(third)
  }
  expect([seen, roll.size]).toEqual([['second'], 1])
  roll.remove(second)
  expect(roll.size).toBe(0)
})

test('who has left is kept by nobody, however many come and go between collections of the whole heap', async () => {
  const AT_ONCE = 64
  const roll = new Roll<object>()
  const there: ReturnType<typeof roll.add>[] = []
  const gone: WeakRef<object>[] = []
  const come = () => {
    const item = { payload: [gone.length] }
    gone.push(new WeakRef(item))
    there.push(roll.add(item))
    const oldest = there.length > AT_ONCE ? there.shift() : undefined
    if (oldest !== undefined) roll.remove(oldest)
  }
  for (let count = 0; count < AT_ONCE; count += 1) come()
  // What there is now is old to the collections that follow.
  fullGC()
  for (let round = 0; round < 20; round += 1) {
    for (let count = 0; count < 100; count += 1) come()
    await new Promise(resolve => setImmediate(resolve))
  }
  edenGC()
  const alive = gone.filter(item => item.deref() !== undefined).length
  expect(alive).toBeLessThan(4 * AT_ONCE)
})
