import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { inCallersWords, nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

const [CHAT, RESPONSES, MESSAGES, GEMINI] = FORMATS

const PLAIN: Record<Format, JsonObject> = {
  'openai-chat-completions': { messages: [{ role: 'user', content: 'hi' }] },
  'openai-responses': { input: 'hi' },
  'anthropic-messages': { max_tokens: 90, messages: [{ role: 'user', content: 'hi' }] },
  'gemini-generate-content': { contents: [{ parts: [{ text: 'hi' }] }] },
}

/** What of this tool an upstream of another format is not told. */
function lost(from: Format, to: Format, tool: JsonObject): string[] {
  const body = { ...PLAIN[from], tools: [tool] }
  const codec = CODECS[from]
  const request = codec.decodeRequest(body, { model: 'm', stream: false })
  const { losses } = inCallersWords(codec, body, () =>
    lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS),
  )
  return nameLosses(losses, codec, body)
}

describe('a setting that only the vendor of a hosted tool has is a loss at another that has the tool', () => {
  test.each<[Format, Format, JsonObject, string[]]>([
    [
      RESPONSES,
      MESSAGES,
      { type: 'web_search', external_web_access: false, search_content_types: ['text', 'image'] },
      ['tools.web_search.external_web_access', 'tools.web_search.search_content_types'],
    ],
    [
      MESSAGES,
      RESPONSES,
      { type: 'web_search_20260318', name: 'web_search', response_inclusion: 'excluded', max_uses: 2 },
      ['tools.web_search_20260318.max_uses', 'tools.web_search_20260318.response_inclusion'],
    ],
    [
      MESSAGES,
      GEMINI,
      { type: 'web_search_20250305', name: 'web_search', allowed_domains: ['a.org'] },
      ['tools.web_search_20250305.allowed_domains'],
    ],
    [
      RESPONSES,
      GEMINI,
      { type: 'web_search', filters: { allowed_domains: ['a.org'] } },
      ['tools.web_search.filters.allowed_domains'],
    ],
    [
      MESSAGES,
      GEMINI,
      { type: 'web_fetch_20250910', name: 'web_fetch', max_content_tokens: 5 },
      ['tools.web_fetch_20250910.max_content_tokens'],
    ],
    [
      MESSAGES,
      RESPONSES,
      { type: 'code_execution_20250825', name: 'code_execution', cache_control: { type: 'ephemeral' } },
      ['tools.code_execution_20250825.cache_control'],
    ],
    [
      RESPONSES,
      GEMINI,
      { type: 'code_interpreter', container: 'cntr_1' },
      ['tools.code_interpreter.container'],
    ],
    [
      GEMINI,
      MESSAGES,
      { googleSearch: { timeRangeFilter: { startTime: '2026-01-01T00:00:00Z' } } },
      ['tools.googleSearch.timeRangeFilter'],
    ],
  ])('%s at %s: %j', (from, to, tool, names) => {
    expect(lost(from, to, tool)).toEqual(names)
  })

  test.each<[Format, Format, JsonObject]>([
    [RESPONSES, MESSAGES, { type: 'web_search', external_web_access: true, filters: null }],
    [RESPONSES, GEMINI, { type: 'code_interpreter', container: { type: 'auto' } }],
    [MESSAGES, RESPONSES, { type: 'web_search_20250305', name: 'web_search', allowed_callers: ['direct'] }],
    [GEMINI, RESPONSES, { googleSearch: { searchTypes: { webSearch: {} } } }],
  ])('and what every vendor does anyway is none: %s at %s: %j', (from, to, tool) => {
    expect(lost(from, to, tool)).toEqual([])
  })
})

describe('a setting of a tool that becomes a function is a loss', () => {
  test.each<[Format, JsonObject, string]>([
    [
      RESPONSES,
      {
        type: 'shell',
        environment: { type: 'local', skills: [{ name: 's', description: 'd', path: '/s' }] },
      },
      'tools.shell.environment.skills',
    ],
    [
      MESSAGES,
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 9 },
      'tools.text_editor_20250728.max_characters',
    ],
    [
      MESSAGES,
      { type: 'bash_20250124', name: 'bash', cache_control: { type: 'ephemeral' } },
      'tools.bash_20250124.cache_control',
    ],
  ])('of %s: %j', (from, tool, name) => {
    for (const to of FORMATS) if (to !== from) expect([to, ...lost(from, to, tool)]).toEqual([to, name])
  })

  test.each<[Format, JsonObject]>([
    [RESPONSES, { type: 'shell', environment: { type: 'local' }, allowed_callers: ['direct'] }],
    [MESSAGES, { type: 'computer_20250124', name: 'computer', display_width_px: 9, display_height_px: 9 }],
  ])('but for what its signature says: %s: %j', (from, tool) => {
    for (const to of FORMATS) if (to !== from) expect([to, ...lost(from, to, tool)]).toEqual([to])
  })
})

test.each([CHAT, RESPONSES, MESSAGES])(
  "Gemini's computer, whose calls only its models know, is refused for %s",
  to => {
    const refusal = expect.objectContaining({ kind: 'unsupported_parameter', param: 'tools' })
    const tool = { computerUse: { environment: 'ENVIRONMENT_BROWSER' } }
    expect(() => lost(GEMINI, to, tool)).toThrow(refusal as unknown as Error)
  },
)
