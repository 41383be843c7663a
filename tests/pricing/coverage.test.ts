import { expect, test } from 'bun:test'
import { readPrices } from '@/generation/rate-text.ts'
import type { Surface } from '@/generation/surface.ts'
import { isPriced, surfacesPriced, type Work } from '@/pricing/coverage.ts'

const WORKS: readonly Work[] = ['text', 'embedding', 'image', 'video', 'speech', 'transcription']

test.each<[string, Parameters<typeof readPrices>[0], readonly Work[]]>([
  ['nothing', {}, []],
  ['input alone', { input: '1' }, ['embedding']],
  [
    'input and output',
    { input: '1', output: '2' },
    ['text', 'embedding', 'image', 'speech', 'transcription'],
  ],
  ['a price of 0', { input: '0', output: '0' }, ['text', 'embedding', 'image', 'speech', 'transcription']],
  ['output alone', { output: '2' }, ['image', 'speech']],
  ['images', { per_image: { default: '0.04' } }, ['image']],
  ['seconds of video', { per_video_second: '0.1' }, ['video']],
  ['audio in', { input_audio: '6' }, ['transcription']],
  ['audio out', { output_audio: '6' }, ['speech']],
  ['seconds of audio', { per_audio_second: '0.0001' }, ['speech', 'transcription']],
  ['characters', { per_million_characters: '15' }, ['speech']],
  ['each request', { per_request: '0.01' }, WORKS],
])('%s prices the work that it can pay for', (_, prices, expected) => {
  const rates = readPrices(prices)
  expect(WORKS.filter(work => isPriced(rates, work))).toEqual([...expected])
})

const TEXT: readonly Surface[] = ['chat', 'responses', 'messages', 'gemini']

test.each<[string, Parameters<typeof readPrices>[0], readonly Surface[]]>([
  ['nothing', {}, []],
  ['input alone', { input: '1' }, ['embeddings']],
  ['input and output', { input: '1', output: '2' }, TEXT],
  [
    'text, which is no embedding, and images',
    { input: '1', output: '2', per_image: { default: '0.04' } },
    [...TEXT, 'images'],
  ],
  ['seconds of video', { per_video_second: '0.1' }, ['videos']],
  ['seconds of audio', { per_audio_second: '0.0001' }, ['audio']],
  ['characters', { per_million_characters: '15' }, ['audio']],
])('a model is for what its prices tell: %s', (_, prices, expected) => {
  expect(surfacesPriced(readPrices(prices))).toEqual([...expected])
})
