import { afterAll, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import { ledgerFixture } from './fixture.ts'
import { runModel } from './model-run.ts'

const fixture = await ledgerFixture()
afterAll(() => fixture.close())

/** More with `bun run chaos ledger`. */
const sequences = Number(process.env['LEDGER_SEQUENCES'] ?? 60)
const commandsPerSequence = Number(process.env['LEDGER_COMMANDS'] ?? 40)

test('random commands leave the ledger where a plain model of it is, and the audit finds nothing', async () => {
  await runModel(fixture, { sequences, commandsPerSequence })
  const report = await audit(fixture.database.url)
  expect(report.checks.filter(check => check.count > 0 && !check.informational)).toEqual([])
}, 600_000)
