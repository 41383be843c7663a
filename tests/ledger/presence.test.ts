import { afterAll, expect, test } from 'bun:test'
import { register } from '@/ledger/presence.ts'
import { ledgerFixture } from './fixture.ts'

const fixture = await ledgerFixture()
const { database, store } = fixture
afterAll(() => fixture.close())

test('a process answers for its holds under an id that is stored, and under a new one when that is', async () => {
  const stored = Promise.withResolvers<void>()
  const slow = {
    ...store,
    register: (id: string, address: string) => stored.promise.then(() => store.register(id, address)),
  }
  let isThere = false
  const entering = register(slow, 'test').then(presence => {
    isThere = true
    return presence
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(isThere).toBe(false)
  stored.resolve()
  const presence = await entering
  const first = presence.owner()
  const known = async () => (await database.sql<{ id: string }[]>`select id from process`).map(({ id }) => id)
  expect(await known()).toEqual([first])

  await database.sql`delete from process`
  slow.register = () => Promise.reject(new Error('away'))
  await expect(presence.beat()).rejects.toThrow('away')
  expect(presence.owner()).toBe(first)
  slow.register = store.register
  await presence.beat()
  expect(await known()).toEqual([presence.owner()])
  expect(presence.owner()).not.toBe(first)
})

test('it keeps its id while it is known, and knows how many live as of its last heartbeat', async () => {
  await database.sql`delete from process`
  const [one, other] = [await register(store, 'one'), await register(store, 'other')]
  const id = one.owner()
  expect(one.alive()).toBe(1)
  for (const alive of [2, 1]) {
    await one.beat()
    expect([one.owner(), one.alive()]).toEqual([id, alive])
    await other.leave()
  }
})
