import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBinaries, restoreSymlinks } from '@/db/postgres-binaries.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-binaries-'))
afterAll(() => rmSync(root, { recursive: true }))

test('finds the programs of the installed package', () => {
  const binaries = findBinaries(undefined)
  const { stdout } = Bun.spawnSync([binaries.postgres, '--version'])
  expect(stdout.toString()).toContain(`PostgreSQL) ${binaries.major}.`)
})

test('makes the links to libraries that an install without scripts left out, and mends a dangling one', () => {
  const lib = join(root, 'native', 'lib')
  mkdirSync(lib, { recursive: true })
  writeFileSync(join(lib, 'liba.so.1.2'), 'library')
  symlinkSync('nowhere', join(lib, 'liba.so.1'))
  const links = ['liba.so', 'liba.so.1'].map(name => ({
    source: 'native/lib/liba.so.1.2',
    target: `native/lib/${name}`,
  }))
  writeFileSync(join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  restoreSymlinks(root)
  restoreSymlinks(root)
  expect(readlinkSync(join(lib, 'liba.so'))).toBe('liba.so.1.2')
  expect(readlinkSync(join(lib, 'liba.so.1'))).toBe('liba.so.1.2')
})
