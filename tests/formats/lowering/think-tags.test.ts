import { describe, expect, test } from 'bun:test'
import { callEvents, finish, START, textEvents } from '#tests/formats/events.ts'
import { splitThinkTags } from '@/formats/lowering/think-tags.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import type { ThinkTags } from '@/generation/think-tags.ts'

function events(deltas: readonly string[]): GenerationEvent[] {
  return [START, ...textEvents(0, ...deltas), ...callEvents(1, 'f'), finish()]
}

function said(deltas: readonly string[], tags: ThinkTags = 'both'): string[] {
  const out = runMachine(splitThinkTags(tags), events(deltas))
  const parts = collect(out).candidates[0]?.parts ?? []
  return parts.flatMap(part => {
    if (part.type === 'reasoning') return `reasoning: ${part.texts.join('|')}`
    return part.type === 'text' ? `text: ${part.text}` : []
  })
}

describe('edge 27: think tags', () => {
  const answer = '<think>\nWhy <not>?\n</think>\n\nBecause.'

  test('become reasoning and text at every split into two deltas', () => {
    for (let at = 0; at <= answer.length; at += 1) {
      expect(said([answer.slice(0, at), answer.slice(at)])).toEqual([
        'reasoning: Why <not>?\n',
        'text: Because.',
      ])
    }
  })

  test('become reasoning and text character by character', () => {
    expect(said([...answer])).toEqual(['reasoning: Why <not>?\n', 'text: Because.'])
  })

  test.each([
    ['an unclosed thought is all thought', ['<think>a', ' b'], ['reasoning: a b']],
    ['a thought that ends inside the closing tag', ['<think>a</thi'], ['reasoning: a</thi']],
    ['a text that ends inside the opening tag', ['<thi'], ['text: <thi']],
    ['an empty thought', ['<think>', '\n', '</think>', 'a'], ['text: a']],
    ['white space before the tag', ['\n <think>t</think>a'], ['reasoning: t', 'text: a']],
    ['a tag later in the text', ['use <think>x</think>'], ['text: use <think>x</think>']],
    ['text without tags', ['a', ' <b', '>'], ['text: a <b>']],
    ['a thought alone', ['<think>t</think>', '\n'], ['reasoning: t']],
    ['nothing', [], ['text: ']],
  ])('%s', (_name, deltas, expected) => {
    expect(said(deltas)).toEqual(expected)
  })

  test.each([
    ['begins with the thought', ['a', ' b</th', 'ink>c'], ['reasoning: a b', 'text: c']],
    [
      'loses the opening tag that it has all the same',
      ['<thi', 'nk>a</think>c'],
      ['reasoning: a', 'text: c'],
    ],
    ['is all thought before the closing tag', ['a'], ['reasoning: a']],
    ['may be empty', [], ['text: ']],
  ])('a text whose template writes the opening tag %s', (_name, deltas, expected) => {
    expect(said(deltas, 'closing')).toEqual(expected)
  })
})

test('blocks are numbered in the order in which they begin', () => {
  const out = runMachine(splitThinkTags('both'), events(['<think>t</think>a']))
  const starts = out.flatMap(event => (event.type.endsWith('-start') && 'block' in event ? event.block : []))
  expect(starts).toEqual([0, 1, 2])
})
