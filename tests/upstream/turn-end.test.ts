import { expect, test } from 'bun:test'
import { TurnEnd } from '@/upstream/turn-end.ts'

test('what asks in one turn goes on together, after all else that the turn had to do', async () => {
  const turn = new TurnEnd()
  const seen: string[] = []
  const go = (name: string) => turn.reached().then(() => seen.push(name))
  const first = go('first')
  await Promise.resolve()
  seen.push('another task')
  const second = go('second')
  await Promise.all([first, second])
  expect(seen).toEqual(['another task', 'first', 'second'])
})

test('what asks in the next turn goes on in its own', async () => {
  const turn = new TurnEnd()
  const first = turn.reached()
  await first
  const next = turn.reached()
  expect(next).not.toBe(first)
  await next
})
