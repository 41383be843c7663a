import { afterAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canReach, findUser } from '@/db/os-user.ts'

const PASSWD = 'root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/var/lib/postgresql:/bin/sh\nodd:x\n'
const root = mkdtempSync(join(tmpdir(), 'tollgate-user-'))
afterAll(() => rmSync(root, { recursive: true }))

test('finds a user by name, never root', () => {
  expect(findUser(PASSWD, 'postgres')).toEqual({ uid: 101, gid: 104 })
  expect(['root', 'odd', 'nobody', ''].map(name => findUser(PASSWD, name))).toEqual(Array(4).fill(undefined))
})

test('a directory is reachable only if every directory above it may be entered', () => {
  const inner = join(root, 'outer', 'inner')
  mkdirSync(inner, { recursive: true })
  const stranger = { uid: 4_000_000, gid: 4_000_000 }
  for (const path of [root, join(root, 'outer'), inner]) chmodSync(path, 0o755)
  expect(canReach(inner, stranger)).toBe(true)
  chmodSync(join(root, 'outer'), 0o700)
  expect(canReach(inner, stranger)).toBe(false)
  expect(canReach(inner, { uid: process.getuid?.() ?? 0, gid: 4_000_000 })).toBe(true)
})
