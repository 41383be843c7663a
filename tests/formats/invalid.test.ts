import { describe, expect, test } from 'bun:test'
import { GatewayError } from '@/errors/gateway-error.ts'
import { CODECS } from '@/formats/registry.ts'
import type { JsonObject } from '@/json/json.ts'

function complaint(body: JsonObject): { message: string; param: string | undefined } {
  try {
    CODECS['openai-chat-completions'].decodeRequest(
      { messages: [{ role: 'user', content: 'hi' }], ...body },
      { model: 'm', stream: false },
    )
  } catch (error) {
    if (error instanceof GatewayError) return { message: error.message, param: error.param }
  }
  throw new Error('was accepted')
}

describe('a body that breaks the schema is told what is wrong where', () => {
  test.each<[JsonObject, string, string]>([
    [{ temperature: 'hot' }, 'temperature', 'expected number or null'],
    [{ user: 5 }, 'user', 'expected string or null'],
    [{ messages: [{ content: 'x' }] }, 'messages[0].role', 'required'],
    [{ messages: ['x'] }, 'messages[0]', 'expected object'],
    [{ tools: [null] }, 'tools[0]', 'expected object'],
  ])('%j', (body, param, problem) => {
    expect(complaint(body)).toEqual({ message: `Invalid value for '${param}': ${problem}`, param })
  })

  test('of alternatives the one that the value came closest to speaks', () => {
    const { param, message } = complaint({
      messages: [{ role: 'user', content: [{ type: 'text', text: 5 }] }],
    })
    expect(param).toStartWith('messages[0].content')
    expect(message).not.toContain('union')
  })
})

test('of a path that is longer than any that is meant, the beginning is named', () => {
  const { message, param } = complaint({ metadata: { ['k'.repeat(1_000_000)]: 5 } })
  expect(param).toBe(`metadata.${'k'.repeat(191)}...`)
  expect(message).toStartWith(`Invalid value for '${param}': expected`)
})
