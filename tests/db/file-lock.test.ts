import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tryExclusive, tryShared } from '@/db/file-lock.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-lock-'))
afterAll(() => rmSync(root, { recursive: true }))

const fresh = (name: string) => join(root, name)

test('an exclusive lock keeps everybody else out until it is released', () => {
  const path = fresh('exclusive')
  const lock = tryExclusive(path)
  expect(lock).toBeDefined()
  expect(tryExclusive(path)).toBeUndefined()
  expect(tryShared(path)).toBeUndefined()
  lock?.release()
  const next = tryExclusive(path)
  expect(next).toBeDefined()
  next?.release()
})

test('a shared lock lets others share and nobody have it alone', () => {
  const path = fresh('shared')
  const locks = [tryShared(path), tryShared(path)]
  expect(locks.every(lock => lock !== undefined)).toBe(true)
  expect(tryExclusive(path)).toBeUndefined()
  locks[0]?.release()
  expect(tryExclusive(path)).toBeUndefined()
  locks[1]?.release()
  tryExclusive(path)?.release()
})

test.each(['tryExclusive', 'tryShared'])('%s of a process that was killed is gone with it', async how => {
  const path = fresh(how)
  const program = `
    const locks = await import(${JSON.stringify(join(import.meta.dir, '../../src/db/file-lock.ts'))})
    globalThis.kept = locks.${how}(${JSON.stringify(path)})
    console.log('held')
    setInterval(() => undefined, 1000)`
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' })
  await child.stdout.getReader().read()
  expect(tryExclusive(path)).toBeUndefined()
  child.kill('SIGKILL')
  await child.exited
  const lock = tryExclusive(path)
  expect(lock).toBeDefined()
  lock?.release()
})

test('says which file it is when it cannot lock at all', () => {
  expect(() => tryExclusive(join(root, 'no', 'such', 'directory'))).toThrow(
    'no/such/directory cannot be locked',
  )
})
