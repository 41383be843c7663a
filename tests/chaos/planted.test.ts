import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PLANTED } from './planted.ts'

test('every bug that chaos plants has its place in the tree, and a test that is to catch it', () => {
  const homeless = PLANTED.filter(({ file, find, caughtBy }) => {
    const isThere = readFileSync(join(import.meta.dir, '../..', file), 'utf8').includes(find)
    return !isThere || readFileSync(join(import.meta.dir, '../..', caughtBy), 'utf8') === ''
  })
  expect(homeless.map(({ bug }) => bug)).toEqual([])
})

test('every bug that chaos plants in a function of the ledger is in the newest one of that name', () => {
  const folder = join(import.meta.dir, '../../drizzle')
  const migrations = readdirSync(folder)
    .filter(name => name.endsWith('.sql'))
    .toSorted()
  const replaced = PLANTED.filter(({ file }) => file.startsWith('drizzle/')).filter(({ file, find }) => {
    const before = readFileSync(join(folder, '..', file), 'utf8').split(find)[0] ?? ''
    const made = [...before.matchAll(/CREATE (?:OR REPLACE )?FUNCTION \w+\(/g)].at(-1)?.[0]
    const name = made?.split(' ').at(-1) ?? 'none'
    const later = migrations.filter(migration => `drizzle/${migration}` > file)
    return later.some(migration => readFileSync(join(folder, migration), 'utf8').includes(`FUNCTION ${name}`))
  })
  expect(replaced.map(({ bug }) => bug)).toEqual([])
})
