import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { inCallersWords, nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { Loss, RequestField } from '@/generation/loss.ts'
import type { JsonObject } from '@/json/json.ts'

function loss(field: RequestField | 'extension', name?: string): Loss {
  return { field, name }
}

describe('a loss is named as the caller wrote it', () => {
  const chat = CODECS['openai-chat-completions']
  const gemini = CODECS['gemini-generate-content']

  test('by the one of several names that the request has', () => {
    expect(nameLosses([loss('user')], chat, { safety_identifier: 'p' })).toEqual(['safety_identifier'])
    expect(nameLosses([loss('user')], chat, { user: 'u' })).toEqual(['user'])
    expect(nameLosses([loss('maxOutputTokens')], chat, { max_tokens: 1 })).toEqual(['max_tokens'])
    const wire = { generationConfig: { responseMimeType: 'application/json', responseSchema: {} } }
    expect(nameLosses([loss('output')], gemini, wire)).toEqual(['generationConfig.responseSchema'])
  })

  test('stay short however many fields are lost, and whatever they are called', () => {
    const named = (name: string) => ({ field: 'extension', name }) as const
    const many = Array.from({ length: 3000 }, (_, index) => named(`field_${index}`))
    const names = nameLosses([named('k'.repeat(50_000)), ...many], chat, {})
    expect(names.at(-1)).toBe('and 2961 more')
    expect(names.join(', ').length).toBeLessThan(4096)
    expect(nameLosses([named('k'.repeat(50_000))], chat, {})).toEqual([`${'k'.repeat(97)}...`])
  })

  test('by the usual name when the request has none of them', () => {
    expect(nameLosses([loss('reasoning')], chat, {})).toEqual(['reasoning_effort'])
  })

  test('with the tool that is meant, which may be a field of its own', () => {
    expect(nameLosses([loss('tools', 'mcp')], chat, { tools: [] })).toEqual(['tools.mcp'])
    const wire = { web_search_options: {} }
    expect(nameLosses([loss('tools', 'web_search_options')], chat, wire)).toEqual(['web_search_options'])
  })

  test('once, in a stable order', () => {
    const losses = [loss('topP'), loss('extension', 'b'), loss('seed'), loss('topP')]
    expect(nameLosses(losses, chat, {})).toEqual(['b', 'seed', 'top_p'])
  })
})

describe('a refusal names the field as the caller wrote it', () => {
  const chat = (more: JsonObject, content: JsonObject[] = [{ type: 'text', text: 'hi' }]) => ({
    messages: [{ role: 'user', content }],
    ...more,
  })
  const gemini = (more: JsonObject, part: JsonObject = { text: 'hi' }) => ({
    contents: [{ parts: [part] }],
    ...more,
  })
  const declared = { tools: [{ functionDeclarations: [{ name: 'a' }] }] }
  const choosing = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['b'] } }
  const film = { fileData: { fileUri: 'https://youtu.be/x' } }
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
  // A model that stops where it is told to.
  const OLDER: Partial<Record<Format, string>> = { 'openai-chat-completions': 'gpt-4.1' }
  const legacy = { functions: [{ name: 'a' }], function_call: { name: 'b' } }

  test.each<[Format, JsonObject, Format, string]>([
    ['openai-chat-completions', chat({ n: 2 }), 'openai-responses', 'n'],
    ['openai-chat-completions', chat({}, [sound]), 'anthropic-messages', 'messages.content'],
    ['openai-chat-completions', chat(legacy), 'gemini-generate-content', 'function_call'],
    [
      'gemini-generate-content',
      gemini({ generationConfig: { candidateCount: 2 } }),
      'anthropic-messages',
      'generationConfig.candidateCount',
    ],
    [
      'gemini-generate-content',
      gemini({ generationConfig: { responseModalities: ['AUDIO'] } }),
      'openai-responses',
      'generationConfig.responseModalities',
    ],
    [
      'gemini-generate-content',
      gemini({ generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e'] } }),
      'openai-chat-completions',
      'generationConfig.stopSequences',
    ],
    ['openai-chat-completions', chat({ stop: Array(101).fill('a') }), 'openai-responses', 'stop'],
    ['openai-chat-completions', chat({ stop: ['a'.repeat(1001)] }), 'openai-responses', 'stop'],
    ['gemini-generate-content', gemini({}, film), 'openai-responses', 'contents.parts.fileData'],
    [
      'gemini-generate-content',
      gemini({ ...declared, toolConfig: choosing }),
      'anthropic-messages',
      'toolConfig.functionCallingConfig',
    ],
  ])('%s %j to %s: %s', (caller, wire, upstream, param) => {
    const request = CODECS[caller].decodeRequest(wire, { model: 'm', stream: false })
    const target = { ...TARGETS[upstream], model: OLDER[upstream] ?? TARGETS[upstream].model }
    expect(() =>
      inCallersWords(CODECS[caller], wire, () =>
        lowerRequest(request, CODECS[upstream], target, USUAL_HABITS),
      ),
    ).toThrow(
      expect.objectContaining({
        kind: 'unsupported_parameter',
        param,
        message: expect.stringContaining(`'${param}' `),
      }),
    )
  })
})

describe("what only the caller's own vendor keeps", () => {
  const CACHED = { contents: [{ parts: [{ text: 'hi' }] }], cachedContent: 'cachedContents/1' }
  const BOXED = { max_tokens: 5, messages: [{ role: 'user', content: 'hi' }], container: 'container_1' }

  test.each<[Format, JsonObject, string]>([
    ['gemini-generate-content', CACHED, 'cachedContent'],
    ['anthropic-messages', BOXED, 'container'],
  ])('is refused for other vendors (%s)', (caller, wire, param) => {
    const request = CODECS[caller].decodeRequest(wire, { model: 'm', stream: false })
    const lowered = (upstream: Format) =>
      lowerRequest(request, CODECS[upstream], TARGETS[upstream], USUAL_HABITS)
    for (const upstream of FORMATS.filter(format => format !== caller)) {
      const refused = expect.objectContaining({ kind: 'unsupported_parameter', param })
      expect(() => lowered(upstream)).toThrow(refused)
    }
    expect(lowered(caller).body).toMatchObject({ [param]: wire[param] })
  })
})

describe('fields with nothing in them', () => {
  const NOTHING: Record<Format, JsonObject> = {
    'openai-chat-completions': {
      messages: [{ role: 'user', content: 'hi' }],
      ...{ tools: [], stop: [''], logit_bias: {}, metadata: {}, user: '', prompt_cache_key: '' },
    },
    'openai-responses': { input: 'hi', tools: [], metadata: {}, include: [], user: '', prompt_cache_key: '' },
    'anthropic-messages': {
      messages: [{ role: 'user', content: 'hi' }],
      ...{ max_tokens: 50, system: '', tools: [], stop_sequences: [''], metadata: { user_id: '' } },
    },
    'gemini-generate-content': {
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig: { stopSequences: [''] },
      ...{ tools: [], systemInstruction: { parts: [] }, safetySettings: null },
    },
  }

  test.each(FORMATS)('say nothing and so lose nothing (%s)', caller => {
    const wire = NOTHING[caller]
    const request = CODECS[caller].decodeRequest(wire, { model: 'm', stream: false })
    for (const upstream of FORMATS.filter(format => format !== caller)) {
      const { body, losses } = lowerRequest(request, CODECS[upstream], TARGETS[upstream], USUAL_HABITS)
      expect(nameLosses(losses, CODECS[caller], wire)).toEqual([])
      expect(JSON.stringify(body)).not.toMatch(/user_id|"user":|metadata|"stop|logit_bias|cache_key/)
    }
  })
})
