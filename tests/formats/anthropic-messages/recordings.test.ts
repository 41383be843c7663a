import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import { collect } from '@/generation/collect.ts'
import { replay } from '@/generation/replay.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { decodeContext, errorOf, eventsOf, replyContext, target, written } from './fixtures.ts'
import { accumulate } from './sdk.ts'

const ROOT = join(import.meta.dir, '../../transcripts/anthropic-messages')
const CASES = readdirSync(ROOT).sort()
const WHOLE = CASES.filter(name => existsSync(join(ROOT, name, 'response.json')))

function read(name: string, file: string): string {
  return readFileSync(join(ROOT, name, file), 'utf8')
}

function readJson(name: string, file: string): JsonObject {
  const value = parseObject(read(name, file))
  if (value === undefined) throw new Error(`${name}/${file} holds no object`)
  return value
}

function whole(name: string) {
  return anthropicMessages.decodeResponse(readJson(name, 'response.json'), decodeContext())
}

function requestOf(name: string) {
  const body = readJson(name, 'request.json')
  return anthropicMessages.decodeRequest(body, { model: String(body['model']), stream: true })
}

describe('recordings', () => {
  test.each(WHOLE)('%s: a replayed answer is the answer', name => {
    expect(collect(replay(whole(name)))).toEqual(whole(name))
  })

  test.each(WHOLE)('%s: the official SDK reads the written stream as the written answer', async name => {
    const context = replyContext(requestOf(name))
    const answer = anthropicMessages.encodeResponse(whole(name), context)
    const message = await accumulate(written(eventsOf(read(name, 'stream.sse')), context))
    expect(message.content as unknown[]).toEqual(answer['content'] as unknown[])
    expect(message.stop_reason).toBe(answer['stop_reason'] as never)
    expect(message.stop_sequence).toBe(answer['stop_sequence'] as never)
    expect(message.usage.output_tokens).toBe((answer['usage'] as JsonObject)['output_tokens'] as number)
    expect(message.usage.input_tokens).toBe((answer['usage'] as JsonObject)['input_tokens'] as number)
  })

  test.each(WHOLE)('%s: the request goes through the neutral model without a loss', name => {
    const { body, losses } = anthropicMessages.encodeRequest(
      requestOf(name),
      target(String(readJson(name, 'request.json')['model'])),
    )
    expect(losses).toEqual([])
    const { messages: _messages, ...rest } = readJson(name, 'request.json')
    expect(body).toMatchObject(rest)
  })

  test('error-midstream: ends in an error and tells what came before', () => {
    const events = eventsOf(read('error-midstream', 'stream.sse'))
    expect(errorOf(events)?.message).toContain('Overloaded')
    expect(collect(events).candidates[0]?.parts).toMatchObject([{ type: 'text', text: 'Once upon a' }])
    expect(collect(events).usage?.inputUncached).toBe(12)
  })
})
