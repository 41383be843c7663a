import { expect, test } from 'bun:test'
import { configFile } from '#tests/routing/catalog/config.ts'
import { unservedIn } from '@/commands/unserved.ts'

const CHANNEL = '{ name: main, format: anthropic-messages, base_url: "simulator:" }'

function told(models: readonly string[], now = '2026-06-01') {
  const list = models.map(model => `  - { ${model}, channels: [{ channel: main }] }\n`)
  return unservedIn(configFile(`channels: [${CHANNEL}]\nmodels:\n${list.join('')}`), new Date(now))
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
