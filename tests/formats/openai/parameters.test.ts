import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import type { JsonObject } from '@/json/json.ts'

const closed = (properties: JsonObject, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const text = { type: 'string' }

/** What OpenAI is sent for a strict tool of a caller of Messages, and what that caller is told. */
function lower(to: 'openai-chat-completions' | 'openai-responses', input_schema: JsonObject) {
  const caller = CODECS['anthropic-messages']
  const body = {
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ name: 'f', strict: true, input_schema }],
  }
  const request = caller.decodeRequest(body, { model: 'm', stream: false })
  const lowered = lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS)
  return { sent: JSON.stringify(lowered.body['tools']), losses: nameLosses(lowered.losses, caller, body) }
}

describe.each(['openai-chat-completions', 'openai-responses'] as const)('a strict tool for %s', to => {
  test.each<[string, JsonObject]>([
    ['requires all that it names', closed({ a: text, b: { anyOf: [text, { type: 'null' }] } })],
    ['takes no arguments', closed({})],
    [
      'has arguments that are called as keywords are',
      closed({ allOf: text, properties: closed({ a: text }) }),
    ],
  ])('stays strict where it %s', (_, schema) => {
    const { sent, losses } = lower(to, schema)
    expect(sent).toContain('"strict":true')
    expect(losses).toEqual([])
  })

  test.each<[string, JsonObject]>([
    ['may be called without an argument', closed({ a: text, b: text }, ['a'])],
    ['has such an object within a list', closed({ a: { type: 'array', items: closed({ b: text }, []) } })],
    ['has such an object among others', closed({ a: { anyOf: [text, closed({ b: text }, [])] } })],
    [
      'refers to such an object',
      { ...closed({ a: { $ref: '#/$defs/x' } }), $defs: { x: closed({ b: text }, []) } },
    ],
    [
      'refers to such an object as older schemas do',
      { ...closed({ a: { $ref: '#/definitions/x' } }), definitions: { x: closed({ b: text }, []) } },
    ],
    ['has a default', closed({ a: { ...text, default: 'b' } })],
    ['wants an address', closed({ a: { ...text, format: 'uri' } })],
    ['puts parts together', closed({ a: { allOf: [closed({ b: text })] } })],
  ])('is strict no more, which its caller is told, where it %s: OpenAI would refuse it', (_, schema) => {
    const { sent, losses } = lower(to, schema)
    expect(sent).toContain('"strict":false')
    expect(losses).toEqual(['tools.strict'])
  })
})
