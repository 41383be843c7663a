import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { inCallersWords, nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

const [CHAT, RESPONSES, MESSAGES, GEMINI] = FORMATS

/** What an upstream is sent for a caller's request, and what the caller is told was lost. */
function lower(from: Format, to: Format, body: JsonObject) {
  const request = CODECS[from].decodeRequest(body, { model: 'm', stream: false })
  const lowered = inCallersWords(CODECS[from], body, () =>
    lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS),
  )
  return { body: lowered.body, losses: nameLosses(lowered.losses, CODECS[from], body) }
}

const mcp = { type: 'mcp', server_label: 'docs', server_url: 'https://mcp.example.com' }
const refusal = (param: string) =>
  expect.objectContaining({ kind: 'unsupported_parameter', param }) as unknown as Error

describe('a call that is forced', () => {
  test.each([CHAT, MESSAGES, GEMINI])('is refused where %s is offered none of the tools', to => {
    const body = { input: 'hi', tools: [mcp], tool_choice: 'required' }
    expect(() => lower(RESPONSES, to, body)).toThrow(refusal('tool_choice'))
    expect(lower(RESPONSES, to, { ...body, tool_choice: 'auto' }).losses).toEqual(['tools.mcp'])
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'image_generation' }] }
    const drawing = { input: 'hi', tools: [{ type: 'image_generation' }, mcp], tool_choice: allowed }
    expect(() => lower(RESPONSES, to, drawing)).toThrow(refusal('tool_choice'))
  })

  const asked = [{ role: 'user', content: 'hi' }]
  const named = { type: 'function', function: { name: 'f' } }
  test.each<[Format, JsonObject, string]>([
    [CHAT, { messages: asked, tool_choice: 'required' }, 'tool_choice'],
    [CHAT, { messages: asked, tool_choice: named }, 'tool_choice'],
    [RESPONSES, { input: 'hi', tool_choice: 'required' }, 'tool_choice'],
    [MESSAGES, { messages: asked, max_tokens: 99, tool_choice: { type: 'any' } }, 'tool_choice'],
    [MESSAGES, { messages: asked, max_tokens: 99, tool_choice: { type: 'tool', name: 'f' } }, 'tool_choice'],
    [
      GEMINI,
      { contents: [{ parts: [{ text: 'hi' }] }], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      'toolConfig.functionCallingConfig',
    ],
  ])('is a loss to callers of %s who offer no tools: %j', (from, body, loss) => {
    for (const to of FORMATS) {
      if (to === from) continue
      const lowered = lower(from, to, body)
      expect(lowered.losses).toContain(loss)
      expect(lowered.body).not.toContainAnyKeys(['tools', 'tool_choice', 'toolConfig'])
    }
  })

  const other = { type: 'function', function: { name: 'g' } }
  const allowed = { mode: 'required', tools: [named] }
  test.each<[Format, JsonObject, string]>([
    [CHAT, { tools: [other], tool_choice: named }, 'tool_choice'],
    [CHAT, { tools: [other], tool_choice: { type: 'allowed_tools', allowed_tools: allowed } }, 'tool_choice'],
    [
      CHAT,
      { tools: [other], tool_choice: { type: 'allowed_tools', allowed_tools: { ...allowed, tools: [] } } },
      'tool_choice',
    ],
    [
      CHAT,
      { tools: [other], tool_choice: { type: 'allowed_tools', allowed_tools: { ...allowed, mode: 'auto' } } },
      'tool_choice',
    ],
    [RESPONSES, { tools: [mcp], tool_choice: { type: 'mcp', server_label: 'others' } }, 'tool_choice'],
    [
      RESPONSES,
      { tools: [{ type: 'function', name: 'g' }], tool_choice: { type: 'image_generation' } },
      'tool_choice',
    ],
    [MESSAGES, { tools: [{ name: 'g' }], tool_choice: { type: 'tool', name: 'f' } }, 'tool_choice'],
    [
      GEMINI,
      {
        tools: [{ functionDeclarations: [{ name: 'g' }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      },
      'toolConfig.functionCallingConfig',
    ],
  ])(
    'of a tool that callers of %s do not offer is refused, whatever the upstream: %j',
    (from, body, field) => {
      const hi = { messages: asked, max_tokens: 99, contents: [{ parts: [{ text: 'hi' }] }], input: 'hi' }
      for (const to of FORMATS) {
        if (to !== from) expect(() => lower(from, to, { ...hi, ...body })).toThrow(refusal(field))
      }
    },
  )

  test('is a loss where Gemini has the tool and cannot be made to call it', () => {
    const body = { input: 'hi', tools: [{ type: 'web_search' }], tool_choice: 'required' }
    expect(lower(RESPONSES, GEMINI, body)).toMatchObject({
      body: { tools: [{ googleSearch: {} }] },
      losses: ['tool_choice'],
    })
  })
})

test('Gemini is not offered its own tools where the caller forbids calls: its mode is for functions', () => {
  const body = { input: 'hi', tools: [{ type: 'web_search' }], tool_choice: 'none' }
  const lowered = lower(RESPONSES, GEMINI, body)
  expect(lowered.losses).toEqual([])
  expect(lowered.body['tools']).toBeUndefined()
})

describe("OpenAI's computer tool, which the caller runs and no function can stand for", () => {
  test.each(['computer', 'computer_use_preview'])(
    '%s is refused by other formats, and kept for its own',
    type => {
      const body = { input: 'hi', tools: [{ type }] }
      for (const to of [CHAT, MESSAGES, GEMINI])
        expect(() => lower(RESPONSES, to, body)).toThrow(refusal('tools'))
      expect(lower(RESPONSES, RESPONSES, body).body['tools']).toEqual([{ type }])
    },
  )
})

test("an upstream is offered the server's tools only where a choice of Responses' names them", () => {
  const f = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
  const lowered = (to: Format, ...tools: JsonObject[]) =>
    lower(RESPONSES, to, {
      input: 'hi',
      tools: [f, { type: 'web_search' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools },
    })
  const named = { type: 'function', name: 'f' }
  for (const to of [CHAT, MESSAGES, GEMINI]) {
    const { body, losses } = lowered(to, named)
    expect(JSON.stringify(body['tools'])).not.toMatch(/search/i)
    expect([to, ...losses]).toEqual([to])
  }
  const { body } = lowered(MESSAGES, named, { type: 'web_search' })
  expect(JSON.stringify(body['tools'])).toContain('web_search')
  expect(lowered(RESPONSES, named).body['tools']).toHaveLength(2)
})

test("a choice among a Gemini caller's functions leaves Google's search to the model, unless it forces one of them", () => {
  const choice = (mode: string) => {
    const { body, losses } = lower(GEMINI, RESPONSES, {
      contents: [{ parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }, { name: 'h' }] }, { googleSearch: {} }],
      toolConfig: { functionCallingConfig: { mode, allowedFunctionNames: ['f', 'g'] } },
    })
    expect(losses).toEqual([])
    return body['tool_choice']
  }
  const named = ['f', 'g'].map(name => ({ type: 'function', name }))
  expect(choice('VALIDATED')).toEqual({
    type: 'allowed_tools',
    mode: 'auto',
    tools: [...named, { type: 'web_search' }],
  })
  expect(choice('ANY')).toEqual({ type: 'allowed_tools', mode: 'required', tools: named })
})

test.each([
  ['auto', []],
  ['required', ['tool_choice']],
])("of a choice of nothing but the server's tools, %s, Gemini is offered those alone", (mode, lost) => {
  const f = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
  const { body, losses } = lower(RESPONSES, GEMINI, {
    input: 'hi',
    tools: [f, { type: 'web_search' }],
    tool_choice: { type: 'allowed_tools', mode, tools: [{ type: 'web_search' }] },
  })
  expect(body).toMatchObject({ tools: [{ googleSearch: {} }] })
  expect(body).not.toHaveProperty('toolConfig')
  expect(losses).toEqual(lost)
})

test('signatures on calls and texts are a loss where somebody else made them', () => {
  const body = {
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] },
    ],
  }
  for (const to of [CHAT, RESPONSES, MESSAGES])
    expect([to, ...lower(GEMINI, to, body).losses]).toEqual([to, 'contents.parts.thoughtSignature'])
  expect(lower(GEMINI, GEMINI, body).losses).toEqual([])
})
