import { expect, test } from 'bun:test'
import { TARGETS } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS } from '@/generation/format.ts'
import { type ToolResultPart, textPart } from '@/generation/part.ts'
import { EMPTY_REQUEST } from '../empty-request.ts'

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
