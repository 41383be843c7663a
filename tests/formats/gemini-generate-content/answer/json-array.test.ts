import { describe, expect, test } from 'bun:test'
import { codec } from '#tests/formats/gemini-generate-content/fixtures.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/answer/json-array.ts'
import { runMachine } from '@/generation/machine.ts'

describe('edge 72: the JSON array form of a stream', () => {
  test('brackets and commas stand between payloads that stay as they are', () => {
    const events = ['data: {"a": 1.0}\r\n\r\ndata: {"b":2}\r\n\r\n', 'data:{"c":3}\n\n']
    expect(runMachine(createArrayFramer(), events)).toEqual(['[{"a": 1.0},\r\n{"b":2}', ',\r\n{"c":3}', ']'])
  })

  test('keepalives are blank, several data lines one payload, comments and [DONE] nothing', () => {
    const events = [
      codec.keepalive,
      'data: {\ndata: "a":1}\n\n',
      ': x\n\n',
      'data: [DONE]\n\n',
      codec.keepalive,
      'data: {}\n\n',
    ]
    const text = runMachine(createArrayFramer(), events).join('')
    expect(text).toBe('\n[{\n "a":1}\n,\r\n{}]')
    expect(JSON.parse(text)).toEqual([{ a: 1 }, {}])
  })

  test('a BOM before the first event is no part of the array', () => {
    const events = ['\uFEFFdata: {"a":1}\n\n', 'data: {"b":"\uFEFF"}\n\n']
    expect(runMachine(createArrayFramer(), events).join('')).toBe('[{"a":1},\r\n{"b":"\uFEFF"}]')
  })

  test('an error is an element, first or later', () => {
    const error = 'data: {"error":{"code":503}}\r\n\r\n'
    expect(JSON.parse(runMachine(createArrayFramer(), [error]).join(''))).toEqual([{ error: { code: 503 } }])
    expect(JSON.parse(runMachine(createArrayFramer(), ['data: {}\r\n\r\n', error]).join(''))).toHaveLength(2)
  })

  test('no answer is an empty array', () => expect(runMachine(createArrayFramer(), [])).toEqual(['[]']))
})
