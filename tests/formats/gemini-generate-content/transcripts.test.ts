import { expect, test } from 'bun:test'
import { recordings } from '#tests/transcripts/recording.ts'
import { runMachine } from '@/generation/machine.ts'
import { createSseParser } from '@/sse/parser.ts'
import { codec } from './fixtures.ts'

test.each(recordings(codec.format).map(({ name, stream }) => [name, stream] as const))(
  'every event of %s that tells of usage, end or error is seen as telling',
  (_name, stream) => {
    for (const event of runMachine(createSseParser(), [stream])) {
      const telling = /usageMetadata|finishReason|promptFeedback|error/.test(event.data)
      expect(codec.isTelling(Buffer.from(`data: ${event.data}\r\n\r\n`))).toBe(telling)
    }
  },
)
