import { describe, expect, test } from 'bun:test'
import { nameLosses } from '@/formats/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Loss, RequestField } from '@/generation/loss.ts'

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
