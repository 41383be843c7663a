import { describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'

const { gateway, upstream } = await scriptedGateway()

/** No double holds any of these. */
const DATA = '{"id":12345678901234567890,"far":1e400,"none":-0,"fine":0.12345678901234567890}'
const TEXT = JSON.stringify(DATA)

const SIDES = ['chat', 'responses', 'messages', 'gemini'] as const
type Side = (typeof SIDES)[number]

/** A whole answer that calls a tool. */
const ANSWERS: Record<Side, string> = {
  chat: `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":${DATA}}}]},"finish_reason":"tool_calls"}]}`,
  responses: `{"id":"r","status":"completed","output":[{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":${TEXT}}]}`,
  messages: `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${DATA}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
  gemini: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":${DATA}}}]},"finishReason":"STOP"}]}`,
}

/** A conversation in which that tool was called, and what it answered. */
const REQUESTS: Record<Side, (model: string, stream: boolean) => { path: string; body: string }> = {
  chat: (model, stream) => ({
    path: '/v1/chat/completions',
    body: `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":${TEXT}}}]},{"role":"tool","tool_call_id":"a","content":${TEXT}}]}`,
  }),
  responses: (model, stream) => ({
    path: '/v1/responses',
    body: `{"model":"${model}","stream":${stream},"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":${TEXT}},{"type":"function_call_output","call_id":"a","output":${TEXT}}]}`,
  }),
  messages: (model, stream) => ({
    path: '/v1/messages',
    body: `{"model":"${model}","stream":${stream},"max_tokens":50,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${DATA}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":${TEXT}}]}]}`,
  }),
  gemini: (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: `{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${DATA}}}]},{"parts":[{"functionResponse":{"name":"f","response":${DATA}}}]}]}`,
  }),
}

const PAIRS = SIDES.flatMap(caller => SIDES.map(served => [caller, served] as const))

describe.each(PAIRS)(
  'edge 88: called as %s, served by %s, numbers of tools keep their digits',
  (caller, served) => {
    test.each([false, true])('in the conversation and in the answer (streamed: %p)', async stream => {
      // A stream that was asked for and came whole: what vendors do that have none.
      upstream.answer = () =>
        new Response(ANSWERS[served], { headers: { 'content-type': 'application/json' } })
      upstream.seen.length = 0
      const { path, body } = REQUESTS[caller](`${served}/echo`, stream)
      const response = await gateway.post(path, body)
      const [told, sent] = [await response.text(), new TextDecoder().decode(upstream.seen[0]?.body)]
      expect(response.status).toBe(200)
      // Once in the call, once in its result.
      expect(timesIn(sent)).toBe(2)
      expect(timesIn(told)).toBeGreaterThanOrEqual(1)
    })
  },
)

/** How often a text holds the data, as JSON or as JSON inside of a string. */
function timesIn(text: string): number {
  return text.replaceAll('\\"', '"').split(DATA).length - 1
}
