import { afterAll, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import { ledgerFixture } from './fixture.ts'
import { runModel } from './model-run.ts'

const fixture = await ledgerFixture()
afterAll(() => fixture.close())

/** More with `bun run chaos ledger`. */
const SEQUENCES = 1_000
const COMMANDS = 100

test('random commands leave the ledger where a plain model of it is, and the audit finds nothing', async () => {
  const started = performance.now()
  const { commands } = await runModel(fixture.database.url, {
    sequences: SEQUENCES,
    commandsPerSequence: COMMANDS,
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.info(`${SEQUENCES} sequences, ${commands} commands in ${seconds} s: 0 divergences`)
  const report = await audit(fixture.database.url)
  expect(report.checks.filter(check => check.count > 0 && !check.informational)).toEqual([])
}, 1_800_000)
