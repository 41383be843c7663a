import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('of a test that takes too long the others keep their database', async () => {
  const { DATABASE_URL: _, ...env } = process.env
  const run = Bun.spawn([process.execPath, 'test', join(import.meta.dir, 'late.fixture.ts')], {
    env,
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const said = await run.stderr.text()
  expect(said).toContain('(fail) a test that takes too long')
  expect(said).toContain('(pass) the next one')
}, 120_000)
