import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '@/config/settings.ts'

const root = join(import.meta.dir, '../..')
const unit = readFileSync(join(root, 'examples/tollgate.service'), 'utf8')

test('systemd gives a server that stops more time than open streams have', () => {
  const { shutdownDelayMs, shutdownGraceMs } = readSettings({})
  const [, minutes] = /^TimeoutStopSec=(\d+)min$/m.exec(unit) ?? []
  expect(Number(minutes) * 60_000).toBeGreaterThan(shutdownDelayMs + shutdownGraceMs)
})

if (Bun.which('systemd-analyze') === null) {
  test('LOUD: examples/tollgate.service was NOT tested, there is no systemd', () => {
    console.error('\n*** systemd: not here, so the example of its unit was not tested ***\n')
  })
} else {
  test('systemd understands each line of the example', () => {
    const directory = mkdtempSync(join(tmpdir(), 'tollgate-unit-'))
    const file = join(directory, 'tollgate.service')
    const here = unit
      .replace('/usr/local/bin/bun', process.execPath)
      .replace('User=tollgate', 'User=daemon')
      .replace('/opt/tollgate', root)
    writeFileSync(file, here)
    const verify = Bun.spawnSync(['systemd-analyze', 'verify', file])
    // It may say something of the machine's own units as well.
    const said = verify.stderr.toString().split('\n')
    expect(said.filter(line => line.includes('tollgate.service'))).toEqual([])
    rmSync(directory, { recursive: true })
  })
}
