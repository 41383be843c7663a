import { ledgerFixture } from '#tests/ledger/fixture.ts'
import { runModel } from '#tests/ledger/model-run.ts'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { audit } from '@/ledger/audit.ts'

/** Nothing begins after this long: a slow machine runs fewer sequences, and says so. */
const LIMIT_MS = 15 * 60_000
const TELL_EVERY_MS = 15_000

/** The model-based ledger test at length: `bun run chaos ledger [SEQUENCES [COMMANDS [SEED]]]`. */
export async function run(args: readonly string[]): Promise<boolean> {
  const sequences = Number(args[0] ?? 10_000)
  const commandsPerSequence = Number(args[1] ?? 100)
  const seed = args[2] === undefined ? {} : { seed: Number(args[2]) }
  const fixture = await ledgerFixture()
  const started = performance.now()
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`
  console.log(
    `${sequences} sequences of ${commandsPerSequence} random commands on average, on the ledger and on a model of it; ends after ${LIMIT_MS / 60_000} minutes at most`,
  )
  let toldAt = started
  try {
    const done = await runModel(fixture.database.url, {
      sequences,
      commandsPerSequence,
      ...seed,
      limitMs: LIMIT_MS,
      onSequence(soFar) {
        if (performance.now() - toldAt < TELL_EVERY_MS) return
        toldAt = performance.now()
        console.log(
          `  ${soFar.sequences} sequences, ${soFar.commands} commands in ${seconds()}, no difference`,
        )
      },
    })
    console.log(`  all that was run is being audited (${seconds()})`)
    const { ok, checks } = await audit(fixture.database.url)
    const broken = checks.filter(check => check.count > 0 && !check.informational)
    console.log(
      `${done.sequences} of ${sequences} sequences, ${done.commands} commands, in ${seconds()}: 0 divergences, ${broken.length} audit failures`,
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
