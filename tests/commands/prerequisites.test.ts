import { expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missingPrerequisite } from '@/commands/prerequisites.ts'

const root = join(import.meta.dir, '../..')

test.each(['1.0.36', '1.2.20', '1.4.4', '1.4.5-canary.1'])(
  'Bun %s is too old, which is said with what to do',
  bun => {
    expect(missingPrerequisite(bun, root)).toBe(
      `Bun is ${bun} but must be 1.4.5 or newer: npm install -g --allow-scripts=bun bun@1.4.5`,
    )
  },
)

test.each(['1.4.5', '1.4.10', '1.10.0', '2.0.0', Bun.version])('Bun %s is new enough', bun => {
  expect(missingPrerequisite(bun, root)).toBeUndefined()
})

test('package.json asks for the same Bun', () => {
  const [, oldest = ''] = /"bun": ">=(.+)"/.exec(readFileSync(join(root, 'package.json'), 'utf8')) ?? []
  expect(missingPrerequisite(oldest, root)).toBeUndefined()
  expect(missingPrerequisite(`${oldest}-0`, root)).toContain(`must be ${oldest} or newer`)
})

test.each(['serve', '--version'])(
  '%s without its packages: says so, and takes none from the registry',
  async word => {
    const copy = mkdtempSync(join(tmpdir(), 'tollgate-no-packages-'))
    for (const name of ['src', 'package.json', 'bun.lock', 'bunfig.toml', 'tsconfig.json']) {
      cpSync(join(root, name), join(copy, name), { recursive: true })
    }
    const child = Bun.spawn([process.execPath, 'src/main.ts', word], {
      cwd: copy,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    expect(await child.stderr.text()).toBe(
      'tollgate: its packages are not installed: bun install --frozen-lockfile\n',
    )
    expect(await child.stdout.text()).toBe('')
    expect(await child.exited).toBe(1)
    rmSync(copy, { recursive: true })
  },
)
