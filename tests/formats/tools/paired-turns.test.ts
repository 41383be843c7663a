import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { TARGETS } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { pairedTurns } from '@/formats/tools/paired-turns.ts'
import { FORMATS } from '@/generation/format.ts'
import type { Turn } from '@/generation/request.ts'
import { EMPTY_REQUEST } from '../empty-request.ts'
import { assistant, call, result, system, user } from '../parts.ts'

/** A conversation on one line: `call` is `>id`, a result `id=text`, a turn of the assistant's in brackets. */
function told(turns: readonly Turn[]): string {
  return turns
    .map(({ role, parts }) => {
      const words = parts.map(part => {
        if (part.type === 'tool-call') return `>${part.callId}`
        if (part.type === 'text') return part.text
        if (part.type !== 'tool-result') return part.type
        const [text] = part.content
        return `${part.callId}=${text?.type === 'text' ? text.text.replace(/^No result .*/, '?') : ''}`
      })
      return role === 'assistant' ? `[${words.join(' ')}]` : words.join(' ')
    })
    .join(' | ')
}

const paired = (...turns: Turn[]) => told(pairedTurns(turns, id => id))

describe('each call has one result, right behind what the assistant says in a row', () => {
  test.each<[string, Turn[], string]>([
    [
      'in the order of the calls',
      [assistant(call('a'), call('b')), user(result('b', 'B'), result('a', 'A'))],
      '[>a >b] | a=A b=B',
    ],
    [
      'before what was said meanwhile',
      [assistant(call('a')), user('wait'), system('now'), user(result('a', 'A'), 'and?')],
      '[>a] | a=A | wait | now | and?',
    ],
    [
      'of several turns of the assistant, behind the last',
      [assistant('x', call('a')), assistant(call('b')), user(result('a', 'A'), result('b', 'B'))],
      '[x >a] | [>b] | a=A b=B',
    ],
    [
      'though a turn of nothing stands between',
      [assistant(call('a'), call('b')), user(result('a', 'A')), assistant(''), user(result('b', 'B'))],
      '[>a >b] | a=A b=B',
    ],
    [
      'which says so where none is known',
      [assistant(call('a'), call('b')), user(result('b', 'B'))],
      '[>a >b] | a=? b=B',
    ],
    ['at the end of the talk, too', [user('q'), assistant(call('a'))], 'q | [>a] | a=?'],
  ])('%s', (_, turns, expected) => {
    expect(paired(...turns)).toBe(expected)
  })
})

describe('an answered call that is said again without a result of its own is one call', () => {
  const one = call('a', { input: '{"x":1,"y":[2]}' })
  test.each<[string, Turn[], string]>([
    [
      'in a turn of its own, which goes',
      [assistant('x', one), assistant(one), user(result('a', 'A'))],
      '[x >a] | a=A',
    ],
    [
      'beside others, with its arguments written in another way',
      [
        assistant('x', one, call('b')),
        assistant('x', call('a', { input: '{"y": [2], "x": 1}' }), call('b')),
        user(result('a', 'A'), result('b', 'B')),
      ],
      '[x >a >b] | [x] | a=A b=B',
    ],
    [
      'not if it asks for something else',
      [assistant(one), assistant(call('a', { input: '{"x":1}' })), user(result('a', 'A'))],
      '[>a] | [>a_2] | a=A a_2=?',
    ],
    [
      'not if its arguments are none that can be read',
      [
        assistant(call('a', { input: '{"x' })),
        assistant(call('a', { input: '{"y' })),
        user(result('a', 'A')),
      ],
      '[>a] | [>a_2] | a=A a_2=?',
    ],
    [
      'not if it calls another tool',
      [assistant(one), assistant({ ...one, name: 'g' }), user(result('a', 'A'))],
      '[>a] | [>a_2] | a=A a_2=?',
    ],
    [
      'not in a later answer',
      [assistant(one), user(result('a', 'A')), assistant(one)],
      '[>a] | a=A | [>a_2] | a_2=?',
    ],
  ])('%s', (_, turns, expected) => {
    expect(paired(...turns)).toBe(expected)
  })
})

describe('a result that answers no open call is told in words, where it stood', () => {
  test.each<[string, Turn[], string]>([
    [
      'one whose call is not there',
      [assistant('hm'), user(result('x', 'X'), 'go on')],
      '[hm] | Result of tool call x: X go on',
    ],
    [
      'one before its call',
      [user(result('a', 'A')), assistant(call('a'))],
      'Result of tool call a: A | [>a] | a=?',
    ],
    [
      'a second one',
      [assistant(call('a')), user(result('a', '1'), result('a', '2'))],
      '[>a] | a=1 | Result of tool call a: 2',
    ],
    [
      'a second one, behind the next answer',
      [assistant(call('a')), user(result('a', '1')), assistant('hm'), user(result('a', '2'))],
      '[>a] | a=1 | [hm] | Result of tool call a: 2',
    ],
    [
      'one that comes after the next answer, which was given without it',
      [assistant(call('a')), user('wait'), assistant('hm'), user(result('a', 'A'))],
      '[>a] | a=? | wait | [hm] | Result of tool call a: A',
    ],
    [
      'with its name and that it failed',
      [user(result('x', 'X', { name: 'f', isError: true }))],
      'Result of tool f (x), which failed: X',
    ],
  ])('%s', (_, turns, expected) => {
    expect(paired(...turns)).toBe(expected)
  })
})

describe('an id names one call', () => {
  test.each<[string, Turn[], string]>([
    [
      'of several answers',
      [assistant(call('a')), user(result('a', '1')), assistant(call('a')), user(result('a', '2'))],
      '[>a] | a=1 | [>a_2] | a_2=2',
    ],
    [
      'of one answer',
      [assistant(call('a'), call('a')), user(result('a', '1'), result('a', '2'))],
      '[>a >a_2] | a=1 a_2=2',
    ],
    [
      'where another is called as the second of them would be',
      [assistant(call('a'), call('a'), call('a_2')), user(result('a_2', '3'))],
      '[>a >a_2 >a_2_2] | a=? a_2=? a_2_2=3',
    ],
    [
      'of which the last was answered',
      [assistant(call('a')), user('wait'), assistant(call('a')), user(result('a', 'A'))],
      '[>a] | a=? | wait | [>a_2] | a_2=A',
    ],
  ])('%s', (_, turns, expected) => {
    expect(paired(...turns)).toBe(expected)
  })

  test('that the target takes, in the result as in the call', () => {
    const turns = [assistant(call('a'), call('a')), user(result('a', '1'), result('a', '2'))]
    expect(told(pairedTurns(turns, id => `<${id}>`))).toBe('[><a> ><a_2>] | <a>=1 <a_2>=2')
  })
})

test("a result has its call's name and kind, whatever it says itself", () => {
  const answer = result('a', 'A', { name: 'other', kind: 'function' })
  const [, results] = pairedTurns(
    [assistant(call('a', { name: 'f', kind: 'custom' })), user(answer)],
    id => id,
  )
  expect(results?.parts).toEqual([{ ...answer, name: 'f', kind: 'custom' }])
})

/** Conversations of two ids in which calls, each for something else, and results stand in any way. */
const CONVERSATIONS = fc
  .array(fc.tuple(fc.constantFrom('call', 'result', 'said', 'heard', 'system'), fc.constantFrom('a', 'b')), {
    maxLength: 12,
  })
  .map(moves =>
    moves.map(([kind, id], index): Turn => {
      switch (kind) {
        case 'call':
          return assistant(call(id, { input: `{"n":${index}}` }))
        case 'result':
          return user(result(id, `word ${index}.`))
        case 'system':
          return system(`word ${index}.`)
        default:
          return kind === 'said' ? assistant(`word ${index}.`) : user(`word ${index}.`)
      }
    }),
  )

test.each(FORMATS)(
  '%s: in whatever way calls and results stand, each word is sent once, and each call answered once',
  to => {
    fc.assert(
      fc.property(CONVERSATIONS, turns => {
        const { body } = CODECS[to].encodeRequest(
          { ...EMPTY_REQUEST, turns: [user('q'), ...turns] },
          TARGETS[to],
        )
        const sent = JSON.stringify(body)
        for (const word of JSON.stringify(turns).match(/word \d+\./g) ?? [])
          expect(sent.split(word)).toHaveLength(2)
        const again = CODECS[to].decodeRequest(body, { model: 'm', stream: false })
        const parts = again.turns.flatMap(turn => turn.parts)
        const calls = parts.flatMap(part => (part.type === 'tool-call' ? part.callId : []))
        const results = parts.flatMap(part => (part.type === 'tool-result' ? part.callId : []))
        expect(new Set(calls).size).toBe(
          turns.filter(({ parts: [part] }) => part?.type === 'tool-call').length,
        )
        expect(results).toEqual(calls)
      }),
    )
  },
)

test('a longer conversation begins with the same turns', () => {
  fc.assert(
    fc.property(CONVERSATIONS, turns => {
      const all = pairedTurns(turns, id => id)
      for (const [index, turn] of turns.entries()) {
        if (turn.role !== 'assistant' || turns[index - 1]?.role === 'assistant') continue
        const begun = pairedTurns(turns.slice(0, index), id => id)
        expect(all.slice(0, begun.length)).toEqual(begun)
      }
    }),
  )
})
