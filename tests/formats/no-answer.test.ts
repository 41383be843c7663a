import { describe, expect, test } from 'bun:test'
import { eventsOf } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { streamOf } from './answers/probes.ts'

const CONTEXT = { vendor: 'example', newId: () => 'id' }
/** What servers and proxies write into a 200 that is no answer of a model. */
const NONE: JsonObject[] = [
  {},
  { detail: 'Not Found' },
  { message: 'Service is down', ok: false },
  { usage: { input_tokens: 9, output_tokens: 9, prompt_tokens: 9, completion_tokens: 9 } },
  { output: 'text', content: 'text', choices: 'text', candidates: 'text' },
]

/** What servers and proxies write of an error that is none of the format's. */
const COMPLAINTS: JsonObject[] = [
  // Bedrock
  { message: 'why' },
  // vLLM
  { object: 'error', message: 'why', type: 'BadRequestError', param: null, code: 400 },
  // FastAPI
  { detail: 'why' },
  { detail: [{ loc: ['body', 'n'], msg: 'why', type: 'missing' }] },
  // Azure's API Management
  { statusCode: 429, message: 'why' },
  { code: 'server_error', message: 'why' },
  { type: 'overloaded_error', message: 'why' },
  // Cloudflare
  { success: false, errors: [{ code: 7003, message: 'why' }], messages: [], result: {} },
  // AWS Lambda
  { errorType: 'Runtime', errorMessage: 'why' },
  { error: 'why' },
  { type: 'error', error: '{"message":"why"}' },
]

/** What a stream of these events fails with. */
function failure(format: Format, stream: string): unknown {
  return eventsOf(format, [Buffer.from(stream)]).at(-1)
}

const TOLD = { type: 'error', error: { message: expect.stringContaining(': why') } }

describe.each(FORMATS)('%s', format => {
  test.each(COMPLAINTS)('%j is told in its own words, as an answer and within one', body => {
    expect(() => CODECS[format].decodeResponse(body, CONTEXT)).toThrow(/: why/)
    expect(failure(format, `data: ${JSON.stringify(body)}\n\n`)).toMatchObject(TOLD)
  })

  test('an error without words is one of its status', () => {
    expect(failure(format, 'data: {"error":{"code":429}}\n\n')).toMatchObject({
      type: 'error',
      error: { fault: { status: 429 } },
    })
  })

  test('an event of an error that is text is told in its own words', () => {
    expect(failure(format, 'event: error\ndata: why\n\n')).toMatchObject(TOLD)
  })

  test('an event that is broken JSON is lost output', () => {
    expect(failure(format, 'data: {"type":"response.output_text.delta","delta":"a\n\n')).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining('cannot be read') },
    })
  })

  test.each(NONE)('%j in a 200 is no answer: another channel is asked, and no usage is read', body => {
    expect(() => CODECS[format].decodeResponse(body, CONTEXT)).toThrow(
      expect.objectContaining({ kind: 'upstream_error', retry: 'next-channel' }),
    )
    expect(CODECS[format].reportedUsage(body)).toBeUndefined()
  })
})

test.each(['queued', 'in_progress'])(
  'openai-responses: one that is %s is no answer until it tells usage',
  status => {
    const codec = CODECS['openai-responses']
    const begun = { object: 'response', status, output: [] }
    expect(() => codec.decodeResponse({ ...begun, usage: null }, CONTEXT)).toThrow(
      expect.objectContaining({ kind: 'upstream_error', isCut: true, retry: 'next-channel' }),
    )
    const usage = { input_tokens: 9, output_tokens: 9 }
    expect(codec.decodeResponse({ ...begun, usage }, CONTEXT).candidates).toMatchObject([{ parts: [] }])
  },
)

test.each([
  ['openai-responses', { object: 'response', status: 'completed', output: null }],
  ['anthropic-messages', { type: 'message', role: 'assistant', content: null, stop_reason: 'end_turn' }],
] as const)('%s: an empty list that is written as null is an answer of nothing', (format, body) => {
  expect(CODECS[format].decodeResponse(body, CONTEXT).candidates).toMatchObject([{ parts: [] }])
})

test.each<JsonObject>([{ choices: null }, { choices: [] }])(
  'a complaint of MiniMax beside %j is told',
  none => {
    const body = { id: 'x', ...none, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }
    const codec = CODECS['openai-chat-completions']
    expect(() => codec.decodeResponse(body, CONTEXT)).toThrow(/insufficient balance/)
    const events = eventsOf(codec.format, [Buffer.from(streamOf(codec.format, [body]))])
    const message = expect.stringMatching(/insufficient balance/)
    expect(events).toMatchObject([{ type: 'error', error: { message } }])
  },
)
