import { expect, test } from 'bun:test'
import { soundFormatOf } from '@/formats/openai/sound-format.ts'

test.each([
  [undefined, 'wav'],
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/vnd.wave; codec=1', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/mpeg', 'mp3'],
  ['audio/x-mpeg', 'mp3'],
  ['audio/flac', 'flac'],
] as const)('OpenAI is told the format of %p as %s', (mediaType, format) => {
  expect(soundFormatOf(mediaType)).toBe(format)
})
