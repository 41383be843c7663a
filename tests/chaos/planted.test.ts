import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PLANTED } from './planted.ts'

test('every bug that chaos plants has its place in the tree, and a test that is to catch it', () => {
  const homeless = PLANTED.filter(({ file, find, caughtBy }) => {
    const isThere = readFileSync(join(import.meta.dir, '../..', file), 'utf8').includes(find)
    return !isThere || readFileSync(join(import.meta.dir, '../..', caughtBy), 'utf8') === ''
  })
  expect(homeless.map(({ bug }) => bug)).toEqual([])
})
