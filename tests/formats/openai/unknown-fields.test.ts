import { expect, test } from 'bun:test'
import { decodeEmbeddingRequest } from '@/formats/openai/embeddings.ts'
import { decodeImageRequest } from '@/formats/openai/images.ts'
import { decodeVideoRequest } from '@/formats/openai/videos.ts'

const beside = { user: null, background: 'auto', quality: null, style: 'vivid' }

test.each([
  ['embeddings', () => decodeEmbeddingRequest({ model: 'm', input: 'x', ...beside })],
  ['images', () => decodeImageRequest({ model: 'm', prompt: 'x', ...beside })],
  ['videos', () => decodeVideoRequest({ model: 'm', prompt: 'x', ...beside })],
])('of a request for %s, what is null or left to the model is no loss', (_, decode) => {
  expect(decode().unread).toEqual(['style'])
})
