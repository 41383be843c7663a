import { expect, test } from 'bun:test'
import { modelOf } from '#tests/support/channels.ts'
import { createCatalog } from '@/routing/catalog/catalog.ts'

test('finds by id and by alias, exactly', () => {
  const catalog = createCatalog([modelOf('openai/gpt:5', { aliases: ['latest'] })], [])
  expect(catalog.find('openai/gpt:5')?.id).toBe('openai/gpt:5')
  expect(catalog.find('latest')?.id).toBe('openai/gpt:5')
  for (const name of ['OpenAI/gpt:5', 'gpt:5', 'Latest', '', 'constructor', '__proto__']) {
    expect(catalog.find(name)).toBeUndefined()
  }
})

test('an id is never shadowed by an alias', () => {
  expect(createCatalog([modelOf('a', { aliases: ['b'] }), modelOf('b')], []).find('b')?.id).toBe('b')
})

test('lists in order of id, whatever order and language they came in', () => {
  const ids = ['b', 'A', 'a', 'é', 'B-1']
  expect(
    createCatalog(
      ids.map(id => modelOf(id)),
      [],
    )
      .list()
      .map(found => found.id),
  ).toEqual(['A', 'B-1', 'a', 'b', 'é'])
})
