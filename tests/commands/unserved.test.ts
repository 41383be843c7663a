import { expect, test } from 'bun:test'
import { configFile } from '#tests/routing/catalog/config.ts'
import { unservedIn } from '@/commands/unserved.ts'

function told(models: readonly string[], now = '2026-06-01', format = 'anthropic-messages') {
  const channel = `{ name: main, format: ${format}, base_url: "simulator:" }`
  const list = models.map(model => `  - { ${model}, channels: [{ channel: main }] }\n`)
  return unservedIn(configFile(`channels: [${channel}]\nmodels:\n${list.join('')}`), new Date(now))
}

test('goes by the prices in force, not by those before a change or after it', () => {
  const vectors = 'the model m is offered for embeddings, which none of its channels can serve'
  const none = 'the model m has no prices: until it has, every request of it is refused'
  const became = ['id: m, prices: { input: 1, changes: [{ from: 2026-01-01, input: 1, output: 1 }] }']
  expect(told(became, '2025-12-31')).toEqual([vectors])
  expect(told(became)).toEqual([])
  const becomes = ['id: m, prices: { changes: [{ from: 2026-07-01, input: 1, output: 1 }] }']
  expect(told(becomes)).toEqual([none])
  expect(told(becomes, '2026-07-01')).toEqual([])
  // As a request of it is refused.
  expect(told(['id: m, prices: { cached_input: 1 }'])).toEqual([none])
  expect(told(['id: m, prices: { per_request: 0 }'])).toEqual([])
})

test('many models that are refused alike are one line, which names the first ten', () => {
  const ids = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}-${index}`)
  const bare = ids('bare', 10_000).map(id => `id: ${id}`)
  const vectors = ids('vector', 10).map(id => `id: ${id}, prices: { input: 1 }`)
  expect(told([...bare, ...vectors])).toEqual([
    `the models ${ids('bare', 10).join(', ')} and 9990 more have no prices: until they have, every request of them is refused`,
    `the models ${ids('vector', 10).join(', ')} are offered for embeddings, which none of their channels can serve`,
  ])
})

test.each([
  ['chat, videos', 'input: 1, output: 1', ['videos']],
  ['responses, messages, gemini, images, audio', 'input: 1, output: 1', []],
  ['chat, embeddings', 'input: 1', ['chat']],
  ['chat, gemini, images', 'per_image: { default: 1 }', ['chat']],
  ['embeddings, videos, gemini', 'per_video_second: 1', ['embeddings']],
  ['audio, images', 'per_audio_second: 1', ['images']],
  ['chat, embeddings, images, videos, audio', 'per_request: 1', []],
])('a model offered for %s at the prices %s lacks one for %j', (surfaces, prices, lacking) => {
  expect(
    told([`id: m, surfaces: [${surfaces}], prices: { ${prices} }`], undefined, 'openai-responses'),
  ).toEqual(lacking.map(surface => `the model m is offered for ${surface}, for which it has no price`))
})

test('models that lack the same price are one line', () => {
  const clips = ['one', 'two'].map(id => `id: ${id}, surfaces: [videos], prices: { input: 1, output: 1 }`)
  expect(told(clips)).toEqual(['the models one, two are offered for videos, for which they have no price'])
})
