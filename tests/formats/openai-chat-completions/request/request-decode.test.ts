import { describe, expect, test } from 'bun:test'
import { decodeRequest, requestOf } from '#tests/formats/openai-chat-completions/fixtures.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

const USER = { role: 'user', content: 'Hi' }

function turnsOf(...messages: JsonObject[]) {
  return decodeRequest({ model: 'm', messages }).turns
}

/** The parts of a user message with this content. */
function partsOf(content: JsonValue) {
  return turnsOf({ role: 'user', content })[0]?.parts
}

function faultOf(body: JsonObject): GatewayError {
  try {
    decodeRequest(body)
  } catch (error) {
    if (error instanceof GatewayError) return error
  }
  throw new Error('nothing was refused')
}

describe('refuses with the field at fault', () => {
  test.each([
    [{ messages: [] }, 'messages'],
    [{}, 'messages'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [USER, { role: 'tool', content: 'x' }] }, 'messages[1].tool_call_id'],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content[0].image_url'],
    [{ messages: [{ role: 'user', content: [{ type: 'file', file: {} }] }] }, 'messages[0].content[0].file'],
    [
      { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      'messages[0].content',
    ],
    [{ messages: [USER], n: 0 }, 'n'],
    [{ messages: [USER], temperature: 3 }, 'temperature'],
    [{ messages: [USER], max_tokens: 'many' }, 'max_tokens'],
    [{ messages: [USER], tools: [{ type: 'function' }] }, 'tools[0].function'],
    [{ messages: [USER], tools: [{}] }, 'tools[0].type'],
    [
      { messages: [USER], tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
      'tools[0].function.parameters',
    ],
    [{ messages: [USER], tools: [{ type: 'function', name: 'f', parameters: 'x' }] }, 'tools[0].parameters'],
    [{ messages: [USER], tools: [{ type: 'function', name: 'f', strict: 'x' }] }, 'tools[0].strict'],
    [{ messages: [USER], tools: [{ type: 'custom', name: 'f', description: 1 }] }, 'tools[0].description'],
    [{ messages: [USER], tool_choice: 'maybe' }, 'tool_choice'],
    [{ messages: [USER], tool_choice: {} }, 'tool_choice'],
    [{ messages: [USER], tool_choice: { function: {} } }, 'tool_choice.function.name'],
    [{ messages: [USER], response_format: { type: 'xml' } }, 'response_format.type'],
    [{ messages: [USER], response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ messages: [USER], response_format: { type: 'json_object', schema: 'x' } }, 'response_format.schema'],
  ])('%j', (body, param) => {
    const error = faultOf(body)
    expect({ kind: error.kind, status: error.status, param: error.param }).toEqual({
      kind: 'invalid_request',
      status: 400,
      param,
    })
  })

  test('without saying what was sent', () => {
    expect(faultOf({ messages: [USER], user: { secret: 'hunter2' } }).message).not.toContain('hunter2')
  })
})

describe('fields', () => {
  test('that are null are not said', () => {
    const fields = [
      'temperature',
      'top_p',
      'n',
      'stop',
      'tools',
      'tool_choice',
      'response_format',
      'max_tokens',
    ]
    expect(requestOf(Object.fromEntries(fields.map(name => [name, null])))).toEqual(requestOf({}))
  })

  test('are read into their neutral places', () => {
    const request = requestOf({
      max_tokens: 5,
      max_completion_tokens: 7,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 4,
      stop: 'END',
      seed: 1,
      presence_penalty: 1,
      frequency_penalty: -1,
      logit_bias: { 50: -100 },
      logprobs: true,
      top_logprobs: 3,
      n: 2,
      modalities: ['text', 'audio', 'smell'],
      safety_identifier: 'u',
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      service_tier: 'flex',
      store: false,
      verbosity: 'low',
      reasoning_effort: 'xhigh',
      parallel_tool_calls: false,
    })
    expect(request).toMatchObject({
      maxOutputTokens: 7,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      stop: ['END'],
      seed: 1,
      presencePenalty: 1,
      frequencyPenalty: -1,
      logitBias: { 50: -100 },
      logprobs: { top: 3 },
      candidates: 2,
      modalities: ['text', 'audio'],
      user: 'u',
      metadata: { a: 'b' },
      promptCacheKey: 'k',
      serviceTier: 'flex',
      store: false,
      verbosity: 'low',
      reasoning: { effort: 'xhigh', budgetTokens: undefined, summary: 'auto' },
      parallelToolCalls: false,
      extensions: {},
    })
  })

  test('a schema beside json_object, as servers of open models take it, is that of the answer', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    expect(requestOf({ response_format: { type: 'json_object', schema } })).toMatchObject({
      output: { type: 'json-schema', schema },
      unread: [],
    })
  })

  test("that ask for the usage in OpenRouter's words are none that is lost: the gateway tells it", () => {
    expect(requestOf({ usage: { include: true } }).extensions).toEqual({})
    const more = { usage: { include: true, of_tomorrow: 1 } }
    expect(requestOf(more).extensions).toEqual({ 'openai-chat-completions': more })
  })

  test('that the neutral model does not know survive as extensions', () => {
    const unknown = { prediction: { type: 'content' }, enable_thinking: true, reasoning_effort: 'ultra' }
    expect(requestOf({ ...unknown, stream_options: {} }).extensions).toEqual({
      'openai-chat-completions': unknown,
    })
  })

  test('edge 87: a __proto__ key is a key like any other', () => {
    const body = JSON.parse('{"messages":[{"role":"user","content":"x"}],"__proto__":{"polluted":true}}')
    expect(Object.hasOwn(decodeRequest(body).extensions['openai-chat-completions'] ?? {}, '__proto__')).toBe(
      true,
    )
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  test("OpenRouter's reasoning gives effort, budget and whether to show it", () => {
    expect(requestOf({ reasoning: { max_tokens: 2000, exclude: true } }).reasoning).toEqual({
      effort: undefined,
      budgetTokens: 2000,
      summary: 'none',
    })
    expect(requestOf({ reasoning: { enabled: false } }).reasoning?.effort).toBe('none')
    expect(requestOf({ reasoning: { enabled: true } }).reasoning).toMatchObject({ effort: 'medium' })
    const summary = { effort: undefined, budgetTokens: undefined, summary: 'detailed' }
    expect(requestOf({ reasoning: { summary: 'detailed' } }).reasoning).toMatchObject(summary)
  })

  test.each([
    [{ thinking: { type: 'disabled' } }, { effort: 'none', summary: undefined }],
    [{ thinking: { type: 'enabled' } }, { effort: 'medium', summary: 'auto' }],
    [{ thinking: { type: 'enabled' }, reasoning_effort: 'max' }, { effort: 'max' }],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { effort: undefined, budgetTokens: 2000 }],
    [{ thinking: { type: 'auto' } }, { effort: undefined, budgetTokens: -1 }],
  ])('whether to think, as Kimi, GLM, DeepSeek and Doubao have it: %j', (said, reasoning) => {
    expect(requestOf(said)).toMatchObject({ reasoning, extensions: {}, unread: [] })
  })

  test("thinking that is off has no effort, and beside OpenRouter's reasoning there is no other", () => {
    const thinking = { type: 'disabled' }
    const off = requestOf({ thinking, reasoning_effort: 'high' })
    expect([off.reasoning?.effort, off.unread]).toEqual(['none', ['reasoning_effort']])
    const both = requestOf({ thinking, reasoning: { effort: 'low' } })
    expect([both.reasoning?.effort, both.extensions]).toEqual([
      'low',
      { 'openai-chat-completions': { thinking } },
    ])
  })

  test('a word for it that is not known stays as it is', () => {
    const said = { thinking: { type: 'deep' } }
    expect(requestOf(said)).toMatchObject({
      reasoning: undefined,
      extensions: { 'openai-chat-completions': said },
    })
  })
})

describe('messages', () => {
  test('system and developer text at the head is instructions, later it stays in its place', () => {
    const request = decodeRequest({
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: [{ type: 'text', text: 'b' }] },
        USER,
        { role: 'system', content: 'c' },
      ],
    })
    expect(request.instructions.map(part => part.text)).toEqual(['a', 'b'])
    expect(request.turns.map(turn => turn.role)).toEqual(['user', 'system'])
  })

  test('neighbouring tool messages are one user turn, of the kind of their calls', () => {
    const turns = turnsOf(
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1.0}' } },
          { id: 'b', type: 'custom', custom: { name: 'g', input: 'free' } },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'B' }] },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      USER,
    )
    expect(turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user', 'user'])
    expect(turns[1]?.parts).toMatchObject([
      { kind: 'function', callId: 'a', name: 'f', input: '{"x": 1.0}' },
      { kind: 'custom', callId: 'b', name: 'g', input: 'free' },
    ])
    expect(turns[2]?.parts).toMatchObject([
      { type: 'tool-result', kind: 'custom', callId: 'b', content: [{ text: 'B' }] },
      { type: 'tool-result', kind: 'function', callId: 'a', content: [{ text: 'A' }] },
    ])
  })

  test('edge 88: arguments are kept as text, big numbers and all', () => {
    const text = '{"big": 12345678901234567890, "zero": -0, "far": 1e400}'
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }]
    expect(turnsOf(USER, { role: 'assistant', tool_calls: calls })[1]?.parts).toMatchObject([{ input: text }])
  })

  test('legacy functions beside an empty list of tools are the tools', () => {
    const request = decodeRequest({
      messages: [{ role: 'user', content: 'a' }],
      functions: [{ name: 'f' }],
      tools: [],
    })
    expect(request.tools).toMatchObject([{ type: 'function', name: 'f' }])
    expect(request.parallelToolCalls).toBe(false)
  })

  test('edge 32: legacy functions are tools, their calls have ids that do not change', () => {
    const body = {
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      messages: [
        USER,
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: '1' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: '2' },
      ],
    }
    const request = decodeRequest(body)
    expect(request).toMatchObject({
      tools: [{ type: 'function', name: 'f' }],
      toolChoice: { type: 'tool', name: 'f', kind: 'function' },
      parallelToolCalls: false,
    })
    const ids = request.turns.flatMap(turn =>
      turn.parts.map(part => ('callId' in part ? part.callId : undefined)),
    )
    expect(ids).toEqual([
      undefined,
      'call_function_1',
      'call_function_1',
      'call_function_2',
      'call_function_2',
    ])
    expect(decodeRequest(body)).toEqual(request)
  })

  test('a call that an answer wrote out empty is none', () => {
    const made = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    const turns = (call: JsonObject, more: JsonObject) =>
      decodeRequest({
        messages: [
          USER,
          { role: 'assistant', content: '', tool_calls: [call], ...more },
          { role: 'tool', tool_call_id: 'a', content: '1' },
        ],
      }).turns
    const empty = { function_call: { name: '', arguments: '' } }
    expect(turns({ ...made, custom: { name: '', input: '' } }, empty)).toEqual(turns(made, {}))
  })

  test.each([
    [{ reasoning_content: 't' }],
    [{ reasoning: 't' }],
    [
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 't' }] },
          { type: 'text', text: 'a' },
        ],
      },
    ],
  ])('reasoning comes back in %j', fields => {
    expect(turnsOf(USER, { role: 'assistant', content: 'a', ...fields })[1]?.parts).toMatchObject([
      { type: 'reasoning', texts: ['t'], signature: undefined },
      { type: 'text', text: 'a' },
    ])
  })

  test('the text of a message is that of its only thought, whose signature comes without it', () => {
    const made = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig' } as const
    const entry = { type: 'reasoning.text', signature: wrapSignature(made, 'openai-chat-completions') }
    const message = { role: 'assistant', content: 'x', reasoning_content: 't', reasoning_details: [entry] }
    const { turns } = decodeRequest({ messages: [message] })
    expect(turns[0]?.parts).toMatchObject([
      { type: 'reasoning', texts: ['t'], signature: made },
      { type: 'text', text: 'x' },
    ])
  })

  test('a signature is read where LiteLLM brings it back, and its text is said once', () => {
    const made = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig' } as const
    const entry = {
      type: 'reasoning.text',
      text: 't',
      signature: wrapSignature(made, 'openai-chat-completions'),
    }
    const message = {
      role: 'assistant',
      content: 'x',
      reasoning_content: 't',
      provider_specific_fields: { refusal: null, reasoning_details: [entry] },
    }
    const request = decodeRequest({ messages: [message] })
    expect(request.turns[0]?.parts).toMatchObject([
      { type: 'reasoning', texts: ['t'], signature: made },
      { type: 'text', text: 'x' },
    ])
    expect(request.unread).toEqual([])
  })

  test('what else stands beside it there is named as lost', () => {
    const message = {
      role: 'assistant',
      content: 'x',
      provider_specific_fields: { citations: ['c'], reasoning_details: [] },
    }
    expect(decodeRequest({ messages: [message] }).unread).toEqual([
      'messages.provider_specific_fields.citations',
    ])
  })

  test('a call that its vendor made itself, as Z.ai tells those of MCP, is named as lost', () => {
    const message = {
      role: 'assistant',
      content: 'x',
      tool_calls: [{ id: 'c', type: 'mcp', mcp: { name: 'f' } }],
    }
    expect(turnsOf(USER, message)[1]?.parts).toMatchObject([{ type: 'text', text: 'x' }])
    expect(decodeRequest({ messages: [USER, message] }).unread).toEqual(['messages.tool_calls.mcp'])
  })

  test("another vendor's reasoning_details stay together as its signature", () => {
    const details = [
      { type: 'reasoning.text', text: 'a', signature: 's', index: 0 },
      { type: 'reasoning.encrypted', data: 'd', index: 1 },
    ]
    const message = { role: 'assistant', content: 'x', reasoning: 'a', reasoning_details: details }
    expect(turnsOf(USER, message)[1]?.parts).toMatchObject([
      { type: 'reasoning', texts: ['a'], signature: { vendor: undefined, value: JSON.stringify(details) } },
      { type: 'text' },
    ])
  })

  test("a wrapped thought signature of a call is its maker's again", () => {
    const signature = { format: 'gemini-generate-content', vendor: 'gemini', value: 'c2ln' } as const
    const extra_content = {
      google: { thought_signature: wrapSignature(signature, 'openai-chat-completions') },
    }
    const tool_calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content },
    ]
    expect(turnsOf(USER, { role: 'assistant', tool_calls })[1]?.parts[0]).toMatchObject({ signature })
  })

  test('cache marks are read in both spellings', () => {
    const parts = partsOf([
      { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
      { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'c' },
    ])
    expect(parts?.map(part => ('cache' in part ? part.cache : undefined))).toEqual([
      { ttl: '1h' },
      { ttl: undefined },
      undefined,
    ])
  })

  test('the mark of a message is that of its last part, and of a tool message that of its result', () => {
    const cache_control = { type: 'ephemeral' }
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    const { instructions, turns, unread } = decodeRequest({
      messages: [
        { role: 'system', content: 's', cache_control },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
          cache_control,
        },
        { role: 'assistant', content: 'x', reasoning_content: 't', tool_calls: [call], cache_control },
        { role: 'tool', tool_call_id: 'a', content: '1', cache_control },
        { role: 'assistant', content: null, refusal: 'no', cache_control },
      ],
    })
    const marked = [instructions, ...turns.map(turn => turn.parts)].map(parts =>
      parts.map(part => 'cache' in part && part.cache !== undefined),
    )
    expect(marked).toEqual([[true], [false, true], [false, false, true], [true], [false]])
    expect(unread).toEqual([])
  })

  test.each<[string, JsonObject[], boolean[][]]>([
    [
      'the last part',
      [
        { role: 'system', content: 's' },
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
      [[false], [false], [true]],
    ],
    [
      'the last part that can have one',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, refusal: 'no' },
      ],
      [[], [true], [false]],
    ],
    [
      'the last part that says something',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: ' ' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: '' }] },
      ],
      [[], [true, false], [false]],
    ],
    ['the instructions where nothing else is said', [{ role: 'system', content: 's' }], [[true]]],
  ])('the mark of a whole request, as OpenRouter has it, is that of %s', (_, messages, expected) => {
    const { instructions, turns, unread, extensions } = decodeRequest({
      messages,
      cache_control: { type: 'ephemeral', ttl: '1h' },
    })
    const marked = [instructions, ...turns.map(turn => turn.parts)].map(parts =>
      parts.map(part => 'cache' in part && part.cache?.ttl === '1h'),
    )
    expect(marked).toEqual(expected)
    expect({ unread, extensions }).toEqual({ unread: [], extensions: {} })
  })

  test.each([
    [
      { type: 'image_url', image_url: { url: 'https://e.com/a.png', detail: 'low' } },
      { kind: 'image', source: { type: 'url', url: 'https://e.com/a.png' }, detail: 'low' },
    ],
    [
      { type: 'image_url', image_url: 'data:image/PNG;name=x;base64,AQ-_\n' },
      { kind: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'AQ+/' } },
    ],
    [
      { type: 'image_url', image_url: { url: 'data:image/svg+xml,%3Csvg%3E' } },
      { kind: 'image', mediaType: 'image/svg+xml', source: { type: 'base64', data: 'PHN2Zz4=' } },
    ],
    // As LiteLLM's callers send documents.
    [
      { type: 'image_url', image_url: { url: 'data:application/pdf;base64,AQ==' } },
      { kind: 'document', mediaType: 'application/pdf', source: { type: 'base64', data: 'AQ==' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'AQ==', format: 'mp3' } },
      { kind: 'audio', mediaType: 'audio/mpeg', source: { type: 'base64', data: 'AQ==' } },
    ],
    // Mistral's parts.
    [
      { type: 'input_audio', input_audio: 'AQ==' },
      { kind: 'audio', mediaType: 'audio/mpeg', source: { type: 'base64', data: 'AQ==' } },
    ],
    [
      { type: 'input_audio', input_audio: 'UklGRiQAAABXQVZFZm10IA==' },
      { kind: 'audio', mediaType: 'audio/wav', source: { type: 'base64', data: 'UklGRiQAAABXQVZFZm10IA==' } },
    ],
    [
      { type: 'input_audio', input_audio: 'T2dnUwAC' },
      { kind: 'audio', mediaType: 'audio/ogg', source: { type: 'base64', data: 'T2dnUwAC' } },
    ],
    [
      { type: 'input_audio', input_audio: 'https://e.com/a.wav' },
      { kind: 'audio', mediaType: 'audio/wav', source: { type: 'url', url: 'https://e.com/a.wav' } },
    ],
    [
      { type: 'input_audio', input_audio: 'https://e.com/a' },
      { kind: 'audio', mediaType: 'audio/mpeg', source: { type: 'url', url: 'https://e.com/a' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'https://e.com/a', format: 'mp3' } },
      { kind: 'audio', mediaType: 'audio/mpeg', source: { type: 'url', url: 'https://e.com/a' } },
    ],
    [
      { type: 'document_url', document_url: 'https://e.com/a.pdf', document_name: 'a.pdf' },
      { kind: 'document', source: { type: 'url', url: 'https://e.com/a.pdf' }, filename: 'a.pdf' },
    ],
    [
      { type: 'document_url', document_url: 'data:application/pdf;base64,AQ==' },
      { kind: 'document', mediaType: 'application/pdf', source: { type: 'base64', data: 'AQ==' } },
    ],
    [
      { type: 'file_url', file_url: { url: 'https://e.com/a.pdf' }, file_name: 'a.pdf' },
      { kind: 'document', source: { type: 'url', url: 'https://e.com/a.pdf' }, filename: 'a.pdf' },
    ],
    [
      { type: 'file_url', file_url: { url: 'AQ==' }, file_name: 'a.docx' },
      {
        kind: 'document',
        mediaType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
        source: { type: 'base64', data: 'AQ==' },
      },
    ],
    [
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AQ==', filename: 'a.pdf' } },
      {
        kind: 'document',
        mediaType: 'application/pdf',
        source: { type: 'base64', data: 'AQ==' },
        filename: 'a.pdf',
      },
    ],
    [
      { type: 'file', file: { file_id: 'file-1' } },
      { kind: 'document', source: { type: 'file-id', id: 'file-1', format: 'openai-chat-completions' } },
    ],
    [{ type: 'video_url', video_url: { url: 'https://e.com/a.mp4' } }, { kind: 'video' }],
    [
      { type: 'hologram', x: 1 },
      { type: 'opaque', name: 'hologram', value: { type: 'hologram', x: 1 } },
    ],
  ])('part %j', (part, expected) => {
    expect(partsOf([part])?.[0]).toMatchObject(expected)
  })
})

describe('tools', () => {
  test('of the type custom keep their grammar', () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } }
    expect(requestOf({ tools: [{ type: 'custom', custom: { name: 'p', format } }] }).tools).toMatchObject([
      { type: 'custom', name: 'p', grammar: { syntax: 'lark', definition: 'start: "a"' } },
    ])
  })

  test('that nobody knows belong to the vendor', () => {
    expect(requestOf({ tools: [{ type: 'builtin', x: 1 }] }).tools).toMatchObject([
      { type: 'hosted', kind: 'other', wireType: 'builtin', wire: { type: 'builtin', x: 1 } },
    ])
  })

  test('web_search_options is a hosted search', () => {
    const options = {
      search_context_size: 'low',
      user_location: { type: 'approximate', approximate: { country: 'CH' } },
    }
    expect(requestOf({ web_search_options: options }).tools).toMatchObject([
      {
        type: 'hosted',
        kind: 'web_search',
        webSearch: { userLocation: { type: 'approximate', country: 'CH' }, contextSize: 'low' },
      },
    ])
  })

  test.each([
    ['auto', { type: 'auto' }],
    ['required', { type: 'required' }],
    ['any', { type: 'required' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f', kind: 'function' },
    ],
    [{ function: { name: 'f' } }, { type: 'tool', name: 'f', kind: 'function' }],
    [
      { type: 'custom', custom: { name: 'f' } },
      { type: 'tool', name: 'f', kind: 'custom' },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      { type: 'allowed', mode: 'required', tools: [{ name: 'f', namespace: undefined }] },
    ],
  ])('tool_choice %j', (choice, expected) => {
    expect(requestOf({ tool_choice: choice }).toolChoice).toMatchObject(expected)
  })

  test('that are written as Responses has them lose what is not read of them', () => {
    const f = { type: 'function', name: 'f', description: 'F', parameters: {}, strict: true }
    const grammar = { type: 'grammar', syntax: 'regex', definition: '.' }
    const g = { type: 'custom', name: 'g', description: 'G', format: grammar }
    expect(requestOf({ tools: [f, g] }).unread).toEqual([])
    expect(requestOf({ tools: [{ ...f, foo: 1 }, g] }).unread).toEqual(['tools.foo'])
  })

  test('may leave out that they are functions', () => {
    const definition = { name: 'f', parameters: { type: 'object', properties: {} } }
    const said = requestOf({ tools: [{ type: 'function', function: definition }] })
    expect(requestOf({ tools: [{ function: definition }] })).toEqual(said)
  })
})
