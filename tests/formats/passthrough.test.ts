import { describe, expect, test } from 'bun:test'
import type { Passage } from '@/formats/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { PLAIN_TEXTS } from '@/json/outline.ts'
import { spliceJson } from '@/json/splice.ts'

/** What an upstream gets of a caller's body in its own format. */
function handedOn(
  format: Format,
  text: string,
  vendor: string,
  passage: Partial<Passage> & { model: string },
) {
  const bytes = Buffer.from(text)
  const json: JsonObject = JSON.parse(text)
  const edits = CODECS[format].passthrough.edits(
    { bytes, json, texts: PLAIN_TEXTS },
    {
      target: { model: passage.model, vendor, maxOutputTokens: undefined },
      purpose: 'answer',
      stream: false,
      outputLimit: undefined,
      withoutReasoning: false,
      lose: () => {},
      ...passage,
    },
  )
  return Buffer.from(spliceJson(bytes, edits, json)).toString()
}

describe('the limit of an answer', () => {
  const sentTo = (vendor: string, limits: object) =>
    JSON.parse(
      handedOn('openai-chat-completions', JSON.stringify({ model: 'm', ...limits }), vendor, { model: 'm' }),
    )

  test.each(['api.deepseek.com', 'api.mistral.ai', 'ollama.com'])(
    'has its older name at %s, which knows no other',
    vendor => {
      expect(sentTo(vendor, { max_completion_tokens: 5 })).toEqual({ model: 'm', max_tokens: 5 })
      const both = { max_completion_tokens: 5, max_tokens: 4 }
      expect(sentTo(vendor, both)).toEqual({ model: 'm', max_tokens: 4 })
      expect(sentTo(vendor, { max_completion_tokens: null })).toEqual({ model: 'm' })
      expect(sentTo(vendor, { max_tokens: 4 })).toEqual({ model: 'm', max_tokens: 4 })
    },
  )

  test.each(['api.openai.com', 'api.groq.com', 'localhost:8000'])('stays as it is at %s', vendor => {
    expect(sentTo(vendor, { max_completion_tokens: 5 })).toEqual({ model: 'm', max_completion_tokens: 5 })
  })
})

describe('calls that another Chat upstream made', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1.0}' } })
  const loop = (ids: readonly string[]) =>
    JSON.stringify({
      model: 'm',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: ids.map(call) },
        ...ids.map(id => ({ role: 'tool', tool_call_id: id, content: 'ok' })),
      ],
    })

  test('have ids of nine letters and digits at Mistral, the same in call and result, and its own stay', () => {
    const text = loop(['call_abcdefghijkl', 'AbCdEf123', 'call_other'])
    const sent = JSON.parse(handedOn('openai-chat-completions', text, 'api.mistral.ai', { model: 'm' }))
    const ids = sent.messages[1].tool_calls.map(({ id }: { id: string }) => id)
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(new Set(ids).size).toBe(3)
    expect(ids[1]).toBe('AbCdEf123')
    expect(sent.messages.slice(2).map((message: JsonObject) => message['tool_call_id'])).toEqual(ids)
  })

  test('have at most 40 characters at OpenAI, and are not touched at others', () => {
    const text = loop([`call_${'x'.repeat(60)}`])
    const sent = JSON.parse(handedOn('openai-chat-completions', text, 'api.openai.com', { model: 'm' }))
    expect(sent.messages[1].tool_calls[0].id.length).toBeLessThanOrEqual(40)
    expect(sent.messages[2].tool_call_id).toBe(sent.messages[1].tool_calls[0].id)
    expect(handedOn('openai-chat-completions', text, 'api.groq.com', { model: 'm' })).toBe(text)
  })

  test('change in their ids alone', () => {
    const text =
      '{"model":"m", "messages":[ {"role":"assistant","tool_calls":[{"function":{"arguments":"{\\"x\\": 1.0}","name":"f"}, "id" : "call_1"}],"x":1e21},{"tool_call_id":"call_1","role":"tool","content":"\\u0061"}]}\n'
    const sent = handedOn('openai-chat-completions', text, 'api.mistral.ai', { model: 'm' })
    const id = JSON.parse(sent).messages[1].tool_call_id
    expect(sent).toBe(text.replaceAll('"call_1"', JSON.stringify(id)))
  })
})

describe('thoughts that a Chat caller sends back', () => {
  const asked = (thoughts: object, more: object = {}) =>
    JSON.stringify({
      model: 'm',
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'a', ...thoughts, x: 1e21 },
      ],
      ...more,
    })
  const entries = [{ type: 'reasoning.text', text: 't', signature: 's' }]

  test.each([
    ['api.groq.com', { reasoning_content: 't' }, { reasoning: 't' }],
    ['api.cerebras.ai', { reasoning_content: 't' }, { reasoning: 't' }],
    ['api.cerebras.ai', { reasoning_content: 't', reasoning: 'r' }, { reasoning: 'r' }],
    ['api.cerebras.ai', { reasoning_content: null, reasoning_details: entries }, {}],
    ['api.cerebras.ai', { reasoning_content: 't', reasoning: null }, { reasoning: 't' }],
    ['api.fireworks.ai', { reasoning: 'r', reasoning_details: entries }, { reasoning_content: 'r' }],
    ['api.fireworks.ai', { reasoning_content: 't', reasoning: 't' }, { reasoning_content: 't' }],
    ['api.mistral.ai', { reasoning_content: 't', reasoning: 'r' }, {}],
    ['ollama.com', { reasoning_content: 't' }, { reasoning: 't' }],
    ['api.deepseek.com', { reasoning_content: 't' }, { reasoning_content: 't' }],
    ['openrouter.ai', { reasoning_details: entries }, { reasoning_details: entries }],
  ])('are in the field of %s, or left out: %j', (vendor, thoughts, sent) => {
    const body = handedOn('openai-chat-completions', asked(thoughts), vendor, { model: 'm' })
    expect(JSON.parse(body)).toEqual(JSON.parse(asked(sent)))
  })

  test('are left out where the upstream complained of them', () => {
    const text = asked({ reasoning_content: 't', reasoning: 'r', reasoning_details: entries })
    const body = handedOn('openai-chat-completions', text, 'x.example', {
      model: 'm',
      withoutReasoning: true,
    })
    expect(body).toBe(asked({}))
  })

  test('are left out from among the parts of a message, too, as Mistral has them', () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 't' }] }
    const text = { type: 'text', text: 'a' }
    const without = { model: 'devstral-latest', withoutReasoning: true }
    const sent = (...content: object[]) =>
      JSON.parse(handedOn('openai-chat-completions', asked({ content }), 'api.mistral.ai', without))
        .messages[1].content
    expect(sent(thinking, text)).toEqual([text])
    expect(sent(thinking)).toBe('')
    const bytes = Buffer.from(asked({ content: [thinking, text] }))
    const body = { bytes, json: JSON.parse(bytes.toString()), texts: PLAIN_TEXTS }
    expect(CODECS['openai-chat-completions'].passthrough.signatures(body)).toEqual(['t'])
  })
})

describe('what a vendor of Chat refuses of what the gateway asks for', () => {
  const body = '{"model":"m","messages":[],"stream":true}'
  const asking = '{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}'
  const passage = { model: 'm', stream: true }

  test.each(['api.mistral.ai', 'api.cohere.ai'])('%s has no stream_options', vendor => {
    expect(handedOn('openai-chat-completions', body, vendor, passage)).toBe(body)
    expect(handedOn('openai-chat-completions', asking, vendor, passage)).toBe(body)
    expect(handedOn('openai-chat-completions', body, 'api.openai.com', passage)).toBe(asking)
  })

  test.each([
    ['api.openai.com', 'gpt-4o', 'max_completion_tokens'],
    ['me.openai.azure.com', 'gpt-5', 'max_completion_tokens'],
    ['openrouter.ai', 'openai/o3', 'max_completion_tokens'],
    ['api.deepseek.com', 'deepseek-chat', 'max_tokens'],
  ])('%s takes the limit of %s as %s', (vendor, model, name) => {
    const sent = handedOn('openai-chat-completions', `{"model":"${model}","messages":[]}`, vendor, {
      model,
      outputLimit: 7,
    })
    expect(JSON.parse(sent)).toEqual({ model, messages: [], [name]: 7 })
  })
})

test('a request of Gemini goes to the model that its path names, also where its body names that once more', () => {
  const user = { role: 'user', parts: [{ text: 'hi' }] }
  const named = (model: string) => JSON.stringify({ model, contents: [user] })
  const sent = (text: string, model: string) => handedOn('gemini-generate-content', text, 'g', { model })
  expect(sent(named('models/ours'), 'gemini-2.5-flash')).toBe(named('models/gemini-2.5-flash'))
  expect(sent(named('ours'), 'tunedModels/x')).toBe(named('tunedModels/x'))
  expect(sent(JSON.stringify({ contents: [user] }), 'gemini-2.5-flash')).toBe(
    JSON.stringify({ contents: [user] }),
  )
})

describe('calls that another Gemini upstream made, or nobody signed', () => {
  const BYPASS = 'skip_thought_signature_validator'
  const call = { functionCall: { name: 'f', args: { n: 1 } } }
  const user = { role: 'user', parts: [{ text: 'hi' }] }
  const result = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }
  const body = (...contents: JsonObject[]) => JSON.stringify({ contents })
  const sent = (text: string, model: string) => handedOn('gemini-generate-content', text, 'g', { model })

  test('carry what Google documents for them, on the first call of each step of the current turn', () => {
    const text = body(
      user,
      { role: 'model', parts: [call] },
      result,
      { role: 'model', parts: [{ text: 'done' }] },
      user,
      { role: 'model', parts: [{ text: 'well' }, call, call] },
      { role: 'user', parts: [...result.parts, ...result.parts, { text: 'a reminder' }] },
      { role: 'model', parts: [{ ...call, thoughtSignature: 'mine' }] },
      result,
      { role: 'model', parts: [call] },
      { role: 'model', parts: [call] },
      result,
    )
    const { contents } = JSON.parse(sent(text, 'gemini-3-pro-preview'))
    const expected = JSON.parse(text).contents
    expected[5].parts[1].thoughtSignature = BYPASS
    expected[9].parts[0].thoughtSignature = BYPASS
    expect(contents).toEqual(expected)
  })

  test.each(['gemini-2.5-flash', 'echo'])('are left as they are for %s, which takes them', model => {
    const text = body(user, { role: 'model', parts: [call] }, result)
    expect(sent(text, model)).toBe(text)
  })

  test('are found in either spelling, and an empty signature is none', () => {
    const text =
      '{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"function_call":{"name":"f","args":{"n":1.0}},"thought_signature":""}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{}}}]}]}'
    for (const spelt of [text, text.replaceAll(/"(?:user|model)"/g, role => role.toUpperCase())]) {
      expect(sent(spelt, 'gemini-3-flash')).toBe(spelt.replace('signature":""', `signature":"${BYPASS}"`))
    }
  })

  test('are not looked at where tokens are counted', () => {
    const text = body(user, { role: 'model', parts: [call] }, result)
    const passage = { model: 'gemini-3-flash', purpose: 'count-tokens' } as const
    expect(handedOn('gemini-generate-content', text, 'g', passage)).toBe(text)
  })
})

describe('a Responses upstream that is to keep nothing', () => {
  const sent = (text: string, model = 'gpt-5') =>
    handedOn('openai-responses', text, 'api.openai.com', { model })

  test('is asked for the reasoning itself beside what the caller asks for, in the spelling of the caller', () => {
    const text =
      '{"model":"gpt-5","store":false,"input":"hi","include":[ "message.output_text.logprobs" , "a\\u0062c"]}'
    expect(sent(text)).toBe(
      '{"model":"gpt-5","store":false,"input":"hi","include":["message.output_text.logprobs","a\\u0062c","reasoning.encrypted_content"]}',
    )
    expect(sent(sent(text))).toBe(sent(text))
  })

  test('is not asked for it by a model that does not reason', () => {
    const text = '{"model":"gpt-4o","store":false,"input":"hi"}'
    expect(sent(text, 'gpt-4o')).toBe(text)
  })

  test('is told to store nothing, whatever the caller says', () => {
    expect(sent('{"model":"gpt-4o","input":"hi","store":true}', 'gpt-4o')).toBe(
      '{"model":"gpt-4o","input":"hi","store":false}',
    )
    expect(sent('{"model":"gpt-4o","input":"hi"}', 'gpt-4o')).toBe(
      '{"model":"gpt-4o","input":"hi","store":false}',
    )
  })
})

describe('an upstream that could not read the reasoning of earlier turns gets the conversation without it', () => {
  const without = { model: 'm', withoutReasoning: true }

  test('Responses: items of reasoning, and the ids by which calls and messages belong to them', () => {
    const text =
      '{"model":"m","store":false,"input":[ {"role":"user","content":"hi"}, {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E"},{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{\\"a\\":1.0}"} ,{"type":"function_call_output","call_id":"c","output":"ok"},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"F"},{"type":"message","id":"msg_1","role":"assistant","content":[]} ]}'
    expect(handedOn('openai-responses', text, 'openai', without)).toBe(
      '{"model":"m","store":false,"input":[ {"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{\\"a\\":1.0}"} ,{"type":"function_call_output","call_id":"c","output":"ok"},{"type":"message","role":"assistant","content":[]} ]}',
    )
  })

  test('Messages: thinking blocks, and messages of nothing else', () => {
    const thought = '{"type":"thinking","thinking":"hm","signature":"S"}'
    const text = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[${thought}, {"type":"redacted_thinking","data":"R"}, {"type":"text","text":"\\u0061"}]},{"role":"user","content":"and?"},{"role":"assistant","content":[${thought}]}]}`
    expect(handedOn('anthropic-messages', text, 'anthropic', without)).toBe(
      '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"\\u0061"}]},{"role":"user","content":"and?"}]}',
    )
  })

  test('Gemini: signatures, for which calls of the current turn get what Google documents', () => {
    const text =
      '{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"a","thoughtSignature":"S"},{"functionCall":{"name":"f","args":{"n":1.0}},"thoughtSignature":"T"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}'
    const passage = { ...without, model: 'gemini-3-pro' }
    expect(handedOn('gemini-generate-content', text, 'google', passage)).toBe(
      text.replace(',"thoughtSignature":"S"', '').replace('"T"', '"skip_thought_signature_validator"'),
    )
  })
})
