import { expect, test } from 'bun:test'
import { TARGETS } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS } from '@/generation/format.ts'
import { type ToolResultPart, textPart } from '@/generation/part.ts'
import { EMPTY_REQUEST } from '../empty-request.ts'
import { assistant, call, result, user } from '../parts.ts'

const LOST: ToolResultPart = {
  type: 'tool-result',
  kind: 'function',
  callId: 'lost',
  name: undefined,
  content: [textPart('no such file')],
  isError: true,
  cache: { ttl: '5m' },
}

test.each(FORMATS)(
  '%s: the words of a result whose call is lost go on, with its failure and its mark',
  to => {
    const request = { ...EMPTY_REQUEST, turns: [{ role: 'user' as const, parts: [LOST] }] }
    const { body, losses } = CODECS[to].encodeRequest(request, TARGETS[to])
    const sent = JSON.stringify(body)
    expect(sent).toContain('Result of tool call lost, which failed:')
    expect(sent).toContain('no such file')
    expect(sent.includes('cache_control') || losses.some(({ field }) => field === 'cacheMark')).toBe(true)
  },
)

test.each(['openai-chat-completions', 'openai-responses'] as const)(
  '%s: all parts of a result that failed are sent, which its first words say',
  to => {
    const failed = result('a', [textPart('exit 1'), textPart('no such file')], { isError: true })
    const request = { ...EMPTY_REQUEST, turns: [user('go'), assistant(call('a')), user(failed)] }
    const sent = JSON.stringify(CODECS[to].encodeRequest(request, TARGETS[to]).body)
    expect(sent).toContain('Error: exit 1')
    expect(sent).toContain('no such file')
  },
)

test.each(FORMATS)('%s: what a document of a result says stands in that result', to => {
  const content = [
    { type: 'document', title: 'Log', source: { type: 'text', media_type: 'text/plain', data: 'disk full' } },
  ]
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: ['a', 'b'].map(id => ({ type: 'tool_use', id, name: 'read', input: {} })) },
    { role: 'user', content: ['a', 'b'].map(id => ({ type: 'tool_result', tool_use_id: id, content })) },
  ]
  const request = CODECS['anthropic-messages'].decodeRequest(
    { messages, max_tokens: 99 },
    { model: 'm', stream: false },
  )
  const results = CODECS[to]
    .decodeRequest(CODECS[to].encodeRequest(request, TARGETS[to]).body, { model: 'm', stream: false })
    .turns.flatMap(({ parts }) => parts.filter(part => part.type === 'tool-result'))
  expect(results).toHaveLength(2)
  for (const result of results) expect(JSON.stringify(result.content)).toContain('disk full')
})
