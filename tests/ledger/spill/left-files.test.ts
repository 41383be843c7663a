import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeTexts } from '@/ledger/spill/journal.ts'
import { adoptLeft } from '@/ledger/spill/left-files.ts'

/** A directory in which a record was left in each of so many files. */
function leave(count: number) {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-left-files-'))
  const ids = Array.from({ length: count }, (_, index) => String(index + 10))
  for (const id of ids) writeFileSync(join(directory, `${id}.left`), encodeTexts([id]))
  return { directory, ids, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) }
}

const onFailed = (_path: string, error: unknown) => {
  throw error
}

test('a file that another process has taken in since the directory was read is nothing to take in', async () => {
  // One more than are locked at once.
  using left = leave(17)
  const taken: string[] = []
  const adopt = (allowed: Promise<void>) => {
    const takeIn = async (items: readonly { id: string }[]) => {
      await allowed
      taken.push(...items.map(({ id }) => id))
    }
    const adopter = { read: (id: string) => ({ id }), takeIn, onTaken: () => undefined, onFailed }
    return adoptLeft(left.directory, '.left', adopter, new AbortController().signal)
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = adopt(promise)
  await adopt(Promise.resolve())
  expect(taken).toHaveLength(1)
  resolve()
  await slow
  expect(taken.toSorted()).toEqual(left.ids)
  expect(readdirSync(left.directory)).toEqual([])
})

/** Prints what it has taken in of a directory. */
const ADOPTER = `
import { adoptLeft } from '${join(import.meta.dir, '../../../src/ledger/spill/left-files.ts')}'
const taken = []
const takeIn = async items => void taken.push(...items.map(({ id }) => id))
const adopter = { read: id => ({ id }), takeIn, onTaken: () => undefined, onFailed: (_path, error) => { throw error } }
await adoptLeft(process.argv.at(-1), '.left', adopter, new AbortController().signal)
console.log(JSON.stringify(taken))`

test('of several processes at once each file is taken in by one, and none fails', async () => {
  using left = leave(60)
  const adopters = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, '-e', ADOPTER, left.directory], { stderr: 'inherit' }),
  )
  const atOnce = await Promise.all(adopters.map(async ({ stdout }): Promise<string[]> => stdout.json()))
  // Of two that ask for a lock in the same moment SQLite may refuse both: that file is taken in by the next run.
  const later: string[] = []
  const takeIn = async (items: readonly { id: string }[]) => void later.push(...items.map(({ id }) => id))
  const adopter = { read: (id: string) => ({ id }), takeIn, onTaken: () => undefined, onFailed }
  await adoptLeft(left.directory, '.left', adopter, new AbortController().signal)
  expect([...atOnce.flat(), ...later].toSorted()).toEqual(left.ids)
  expect(readdirSync(left.directory)).toEqual([])
})

test.each([
  ['nothing', 0, [], undefined],
  ['zeros alone', 0, [0, 0, 0], undefined],
  ['one record', 1, [], undefined],
  ['records and zeros behind them', 2, [0, 0], undefined],
  ['a record and a single byte of another', 1, [0, 7, 0], 2],
  ['a single byte of a record', 0, [7], 1],
])(
  'a file with %s is gone when it is taken in, told of if it had a record, and kept if something was torn',
  async (_what, count, rest, tornBytes) => {
    using left = leave(0)
    const path = join(left.directory, 'one.left')
    const ids = Array.from({ length: count }, (_, index) => `id${index}`)
    const bytes = Buffer.concat([encodeTexts(ids), Buffer.from(rest)])
    writeFileSync(path, bytes)
    const taken: string[] = []
    const told: unknown[] = []
    const adopter = {
      read: (id: string) => ({ id }),
      takeIn: async (items: readonly { id: string }[]) => void taken.push(...items.map(({ id }) => id)),
      onTaken: (...about: unknown[]) => void told.push(about),
      onFailed,
    }
    await adoptLeft(left.directory, '.left', adopter, new AbortController().signal)
    expect(taken).toEqual(ids)
    const torn = tornBytes === undefined ? undefined : { bytes: tornBytes, keptAs: `${path}.torn` }
    expect(told).toEqual(count > 0 || torn !== undefined ? [[path, count, torn]] : [])
    expect(readdirSync(left.directory)).toEqual(torn === undefined ? [] : ['one.left.torn'])
    if (torn !== undefined) expect(readFileSync(torn.keptAs)).toEqual(bytes)
  },
)

test('a file that cannot be read or locked is told of, and keeps no other from being taken in', async () => {
  using left = leave(40)
  const unreadable = join(left.directory, '19-unreadable.left')
  const unlockable = join(left.directory, '30-unlockable.left')
  mkdirSync(unreadable)
  writeFileSync(unlockable, encodeTexts(['unlockable']))
  mkdirSync(`${unlockable}.lock`)
  const taken: string[] = []
  const failed: string[] = []
  const adopter = {
    read: (id: string) => ({ id }),
    takeIn: async (items: readonly { id: string }[]) => void taken.push(...items.map(({ id }) => id)),
    onTaken: () => undefined,
    onFailed: (path: string) => void failed.push(path),
  }
  await adoptLeft(left.directory, '.left', adopter, new AbortController().signal)
  expect(taken.toSorted()).toEqual(left.ids)
  expect(failed.toSorted()).toEqual([unreadable, unlockable])
  // Its lock stays beside it, as beside every file that does.
  const stayed = [unreadable, `${unreadable}.lock`, unlockable, `${unlockable}.lock`]
  expect(
    readdirSync(left.directory)
      .map(name => join(left.directory, name))
      .toSorted(),
  ).toEqual(stayed)
})
