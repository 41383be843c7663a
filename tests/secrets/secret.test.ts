import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSecret, nameOfSecret } from '@/secrets/secret.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-secret-'))
afterAll(() => rmSync(root, { recursive: true }))

const embedded = (dataDir: string) => ({ secret: undefined, dataDir })

test('is made once, readable by its owner only, and is the same afterwards', () => {
  const dataDir = join(root, 'made', 'deep')
  const secret = loadSecret(embedded(dataDir), false)
  expect(Buffer.byteLength(secret)).toBeGreaterThanOrEqual(32)
  expect(loadSecret(embedded(dataDir), false)).toBe(secret)
  expect(statSync(join(dataDir, 'secret')).mode & 0o777).toBe(0o600)
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
  expect(readdirSync(dataDir)).toEqual(['secret'])
})

test('is not made anew for a database that was used with another: what is missing can be put back in its place', () => {
  const dataDir = join(root, 'lost')
  expect(() => loadSecret(embedded(dataDir), true)).toThrow(`${join(dataDir, 'secret')} is missing`)
  expect(readdirSync(dataDir)).toEqual([])
  const secret = loadSecret(embedded(dataDir), false)
  expect(loadSecret(embedded(dataDir), true)).toBe(secret)
})

test('is the one of the environment when that is set', () => {
  const secret = 'from the environment, 32 bytes and more'
  expect(loadSecret({ ...embedded(join(root, 'given')), secret }, false)).toBe(secret)
  expect(nameOfSecret({ ...embedded(root), secret })).toBe('TOLLGATE_SECRET')
  expect(nameOfSecret(embedded(root))).toBe(join(root, 'secret'))
})

test('must not be shorter than 32 bytes, also where somebody has written it', () => {
  writeFileSync(join(root, 'secret'), 'typed\n')
  expect(() => loadSecret(embedded(root), false)).toThrow(`${join(root, 'secret')} is 5 bytes long`)
  const secret = 'ä'.repeat(16)
  writeFileSync(join(root, 'secret'), `${secret}\n`)
  expect(loadSecret(embedded(root), false)).toBe(secret)
})

test.each([
  ['cannot be read', (path: string) => mkdirSync(path)],
  ['cannot be made', (path: string) => symlinkSync('nowhere', path)],
])('is not replaced by another one where it %s', (why, place) => {
  const dataDir = join(root, why)
  mkdirSync(dataDir)
  place(join(dataDir, 'secret'))
  expect(() => loadSecret(embedded(dataDir), false)).toThrow(`${join(dataDir, 'secret')} ${why}`)
  expect(readdirSync(dataDir)).toEqual(['secret'])
})

test('is one and the same for processes that start together', async () => {
  const dataDir = join(root, 'together')
  const program = `
    const { loadSecret } = await import(${JSON.stringify(join(import.meta.dir, '../../src/secrets/secret.ts'))})
    console.log(loadSecret({ dataDir: ${JSON.stringify(dataDir)} }, false))`
  const outputs = await Promise.all(
    Array.from({ length: 4 }, () =>
      new Response(Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' }).stdout).text(),
    ),
  )
  expect(new Set(outputs).size).toBe(1)
  expect(outputs[0]?.trim()).toBe(loadSecret(embedded(dataDir), false))
})
