import { expect, test } from 'bun:test'
import { FrameLearner } from '@/formats/plain/frame-learner.ts'
import type { PlainShape } from '@/formats/plain/plain-text.ts'

const shapeOf = (): PlainShape => ({ text: ['delta'], loose: [['id']], usage: undefined })

const eventOf = (id: string, text: string, model = 'm') =>
  `data: ${JSON.stringify({ id, model, delta: text })}\n\n`

/** The frame that a new stream learns from this event. */
function learned(shape: PlainShape, event: string, text: string) {
  const learner = new FrameLearner()
  learner.offer(event, { type: 'text-delta', block: 0, text }, shape)
  expect(learner.frame).toBeUndefined()
  expect(learner.learn()).toBe(learner.frame !== undefined)
  return learner.frame
}

test('a stream finds the frame that another one of its model learned', () => {
  const shape = shapeOf()
  const first = learned(shape, eventOf('a1', 'Hello'), 'Hello')
  expect(first).toBeDefined()
  expect(learned(shape, eventOf('b22', 'there\n'), 'there\n')).toBe(first)
  const other = learned(shape, eventOf('c3', 'you', 'n'), 'you')
  expect(other).toBeDefined()
  expect(other).not.toBe(first)
  expect(learned(shape, eventOf('d4', 'Hello'), 'Hello')).toBe(first)
})

test('a known frame is none for an event that was read in another way', () => {
  const shape = shapeOf()
  expect(learned(shape, eventOf('a', 'Hello'), 'Hello')).toBeDefined()
  expect(learned(shape, eventOf('a', 'Hello'), 'hello')).toBeUndefined()
})

test('frames of one shape are not those of another', () => {
  const first = learned(shapeOf(), eventOf('a', 'Hello'), 'Hello')
  expect(learned(shapeOf(), eventOf('a', 'Hello'), 'Hello')).not.toBe(first)
})

test('the eight that were learned last are remembered', () => {
  const shape = shapeOf()
  const frames = Array.from({ length: 9 }, (_, index) =>
    learned(shape, eventOf('a', 'Hello', `m${index}`), 'Hello'),
  )
  for (const [index, frame] of [...frames.entries()].slice(1)) {
    expect(learned(shape, eventOf('b', 'you', `m${index}`), 'you')).toBe(frame)
  }
  expect(learned(shape, eventOf('b', 'you', 'm0'), 'you')).not.toBe(frames[0])
})
