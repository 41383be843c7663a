import { expect, test } from 'bun:test'
import { remembered } from '@/formats/remembered.ts'

test('what is known of a name is found once', () => {
  const asked: string[] = []
  const traitsOf = remembered(name => {
    asked.push(name)
    return { name }
  })
  const first = traitsOf('gpt-5')
  expect(traitsOf('claude-sonnet-4-5')).toEqual({ name: 'claude-sonnet-4-5' })
  expect(traitsOf('gpt-5')).toBe(first)
  expect(asked).toEqual(['gpt-5', 'claude-sonnet-4-5'])
})

test('however many names there are, no more than a thousand are kept', () => {
  let found = 0
  const count = remembered(() => {
    found += 1
    return found
  })
  for (let name = 0; name <= 1_000; name += 1) count(String(name))
  expect(count('1000')).toBe(1_001)
  expect(count('0')).toBe(1_002)
})
