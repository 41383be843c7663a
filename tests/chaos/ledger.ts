import { ledgerFixture } from '#tests/ledger/fixture.ts'
import { runModel } from '#tests/ledger/model-run.ts'
import { closeTestServer } from '#tests/support/database.ts'
import { audit } from '@/ledger/audit.ts'

/** The model-based ledger test at length: `bun run chaos ledger [SEQUENCES [COMMANDS [SEED]]]`. */
export async function run(args: readonly string[]): Promise<boolean> {
  const sequences = Number(args[0] ?? 10_000)
  const commandsPerSequence = Number(args[1] ?? 100)
  const seed = args[2] === undefined ? {} : { seed: Number(args[2]) }
  const fixture = await ledgerFixture()
  const started = performance.now()
  try {
    const commands = await runModel(fixture.database.url, { sequences, commandsPerSequence, ...seed })
    const { ok, checks } = await audit(fixture.database.url)
    const broken = checks.filter(check => check.count > 0 && !check.informational)
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    console.log(
      `${sequences} sequences of ${commandsPerSequence} commands on average, ${commands} in all, in ${seconds} s: 0 divergences, ${broken.length} audit failures`,
    )
    for (const { name, first } of broken) console.log(name, first)
    return ok
  } catch (error) {
    // fast-check's message has the commands, its cause the difference.
    console.error(error instanceof Error ? `${error.message}\n${error.cause}` : error)
    return false
  } finally {
    await fixture.close()
    await closeTestServer()
  }
}
