import { expect, test } from 'bun:test'
import { SocketMemory } from '@/surfaces/responses/socket-memory.ts'

const text = (letter: string, length: number) => letter.repeat(length)

test('conversations together are no longer than one may be: the oldest go', () => {
  const memory = new SocketMemory(100)
  memory.remember('first', [text('a', 40)])
  memory.remember('second', [text('b', 40)])
  expect(memory.find('first')).toEqual([text('a', 40)])
  memory.remember('third', [text('c', 40)])
  expect(memory.find('first')).toBeUndefined()
  expect(memory.find('second')).toBeDefined()
  memory.remember('fourth', [text('d', 100)])
  expect([memory.find('second'), memory.find('third')]).toEqual([undefined, undefined])
  expect(memory.find('fourth')).toEqual([text('d', 100)])
})

test('what the turns of one conversation share counts once', () => {
  const memory = new SocketMemory(100)
  const turns = ['a', 'b', 'c', 'd', 'e'].map(letter => text(letter, 20))
  for (let count = 1; count <= turns.length; count += 1) memory.remember(`${count}`, turns.slice(0, count))
  for (let count = 1; count <= turns.length; count += 1) {
    expect(memory.find(`${count}`)).toEqual(turns.slice(0, count))
  }
})

test('one that is longer than any may be is not kept, and takes no other away', () => {
  const memory = new SocketMemory(100)
  memory.remember('short', [text('a', 60)])
  memory.remember('long', [text('b', 101)])
  expect([memory.find('short')?.length, memory.find('long')]).toEqual([1, undefined])
})

test('the last eight are kept', () => {
  const memory = new SocketMemory(100)
  for (let count = 1; count <= 9; count += 1) memory.remember(`${count}`, [`${count}`])
  expect([memory.find('1'), memory.find('2'), memory.find('9')]).toEqual([undefined, ['2'], ['9']])
})
