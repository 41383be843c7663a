import { expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonValue } from '@/json/json.ts'

function lowered(to: Format, content: JsonValue) {
  const compaction = { type: 'compaction', content, encrypted_content: 'E' }
  const body = {
    max_tokens: 90,
    messages: [
      { role: 'assistant', content: [compaction] },
      { role: 'user', content: 'go on' },
    ],
  }
  const request = CODECS['anthropic-messages'].decodeRequest(body, { model: 'm', stream: false })
  return lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS)
}

test('what a compaction says in words reaches every format, and its own as the block that it was', () => {
  for (const to of FORMATS) {
    const { body, losses } = lowered(to, 'what was said')
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
    const names = lowered(to, null).losses.map(({ name }) => name)
    expect([to, ...names]).toEqual(to === 'anthropic-messages' ? [to] : [to, 'compaction'])
  }
})
