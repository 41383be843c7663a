import { expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { withSummary } from '@/formats/lowering/summaries.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonValue } from '@/json/json.ts'

const GO_ON = { role: 'user', content: 'go on' }

function compaction(content: JsonValue) {
  return { type: 'compaction', content, encrypted_content: 'E' }
}

function decoded(messages: JsonValue[]) {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const body = { max_tokens: 90, system: 'Be brief.', tools, messages }
  return CODECS['anthropic-messages'].decodeRequest(body, { model: 'm', stream: false })
}

function lowered(to: Format, ...messages: JsonValue[]) {
  return lowerRequest(decoded(messages), CODECS[to], TARGETS[to], USUAL_HABITS)
}

test('what a compaction says in words reaches every format, and its own as the block that it was', () => {
  for (const to of FORMATS) {
    const { body, losses } = lowered(to, { role: 'assistant', content: [compaction('what was said')] }, GO_ON)
    const sent = JSON.stringify(body)
    expect([to, sent.includes('what was said'), sent.includes('"compaction"'), losses.length]).toEqual([
      to,
      true,
      to === 'anthropic-messages',
      0,
    ])
  }
})

test('a compaction without words is a loss elsewhere', () => {
  for (const to of FORMATS) {
    const failed = { role: 'assistant', content: [{ type: 'text', text: 'before' }, compaction(null)] }
    const { body, losses } = lowered(to, failed, GO_ON)
    expect(JSON.stringify(body)).toContain('before')
    const names = losses.map(({ name }) => name)
    expect([to, ...names]).toEqual(to === 'anthropic-messages' ? [to] : [to, 'compaction'])
  }
})

test('it stands for all in front of the last one, and goes in front of what follows as a turn of the user', () => {
  const cited = {
    type: 'char_location',
    cited_text: 'x',
    document_index: 0,
    start_char_index: 0,
    end_char_index: 1,
  }
  const messages = [
    { role: 'user', content: 'gone' },
    { role: 'assistant', content: [compaction('gone'), { type: 'text', text: 'gone', citations: [cited] }] },
    { role: 'system', content: 'gone' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'gone' },
        compaction('what was said'),
        { type: 'text', text: 'then' },
        { type: 'tool_use', id: 't', name: 'f', input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'result' }] },
  ]
  for (const to of FORMATS) {
    const { body, losses } = lowered(to, ...messages)
    const sent = JSON.stringify(body)
    const isOwn = to === 'anthropic-messages'
    expect([to, sent.includes('gone'), losses]).toEqual([to, isOwn, []])
    for (const kept of ['Be brief.', '"f"', 'what was said', 'then', 'result']) expect(sent).toContain(kept)
    if (!isOwn) expect(sent).toMatch(/"user"[^{}]*({[^{}]*)?what was said/)
  }
})

test('a turn that says nothing behind its summary is none', () => {
  const { body } = lowered(
    'openai-chat-completions',
    { role: 'assistant', content: [compaction('sum')] },
    GO_ON,
  )
  expect(body['messages']).toMatchObject([{ role: 'developer' }, { role: 'user' }, { role: 'user' }])
})

test('a request without one is the request itself', () => {
  for (const to of FORMATS) {
    for (const before of [[], [{ role: 'assistant', content: [compaction(null)] }]]) {
      const request = decoded([...before, GO_ON])
      expect(withSummary(request, to)).toBe(request)
    }
  }
})
