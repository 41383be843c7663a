import { expect, test } from 'bun:test'
import { createCatalog } from '@/routing/catalog/catalog.ts'
import type { Model } from '@/routing/model.ts'

function model(id: string, aliases: readonly string[] = []): Model {
  return {
    id,
    aliases,
    displayName: id,
    ownedBy: 'test',
    routes: [],
    surfaces: undefined,
    enabledByDefault: true,
    contextTokens: undefined,
    maxOutputTokens: undefined,
    price: undefined,
    createdAt: new Date(0),
  }
}

test('finds by id and by alias, exactly', () => {
  const catalog = createCatalog([model('openai/gpt:5', ['latest'])])
  expect(catalog.find('openai/gpt:5')?.id).toBe('openai/gpt:5')
  expect(catalog.find('latest')?.id).toBe('openai/gpt:5')
  for (const name of ['OpenAI/gpt:5', 'gpt:5', 'Latest', '', 'constructor', '__proto__']) {
    expect(catalog.find(name)).toBeUndefined()
  }
})

test('an id is never shadowed by an alias', () => {
  expect(createCatalog([model('a', ['b']), model('b')]).find('b')?.id).toBe('b')
})

test('lists in order of id, whatever order and language they came in', () => {
  const ids = ['b', 'A', 'a', 'é', 'B-1']
  expect(
    createCatalog(ids.map(id => model(id)))
      .list()
      .map(found => found.id),
  ).toEqual(['A', 'B-1', 'a', 'b', 'é'])
})
