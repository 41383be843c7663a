import { expect, test } from 'bun:test'
import { imageTypeOf, outputFormatOf } from '@/formats/openai/image-type.ts'

test.each([
  ['svg', 'image/svg+xml'],
  ['gif', 'image/gif'],
  ['png', 'image/png'],
])('an image that OpenAI calls %s is %s, and back', (format, mediaType) => {
  expect(imageTypeOf(format)).toBe(mediaType)
  expect(outputFormatOf(mediaType)).toBe(format)
})
