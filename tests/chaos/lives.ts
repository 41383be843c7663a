import type { Death } from '#tests/ledger/dying-front.ts'
import { ledgerFixture } from '#tests/ledger/fixture.ts'
import { deathsOf, runLives } from '#tests/ledger/lives.ts'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { audit } from '@/ledger/audit.ts'

/**
 * `bun run chaos lives [SEEDS [FIRST_SEED]]`: processes use the ledger at random and are killed one after the other. First
 * one of them at each of its statements.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const seeds = Number(args[0] ?? 1_000)
  const first = Number(args[1] ?? 1)
  const fixture = await ledgerFixture()
  const started = performance.now()
  let [lives, wrong] = [0, 0]
  const trial = async (seed: number, deaths: readonly Death[]) => {
    const found = await runLives(fixture, seed, deaths)
    lives += found.asked.length
    wrong += found.wrong.length
    for (const each of found.wrong) console.log(JSON.stringify(each))
    return found.asked[0] ?? 0
  }
  try {
    const statements = await trial(first, [])
    for (let statement = 1; statement <= statements; statement += 1) {
      for (const isDone of [false, true]) await trial(first, [{ statement, isDone }])
    }
    for (let seed = first; seed < first + seeds; seed += 1) await trial(seed, deathsOf(seed))
    const { ok } = await audit(fixture.database.url)
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    console.log(
      `killed at each of ${statements} statements, before and after it was done, and ${seeds} seeds: ${lives} processes in ${seconds} s, ${wrong} wrong, audit ${ok ? 'green' : 'RED'}`,
    )
    return ok && wrong === 0
  } finally {
    await fixture.close()
    await closeTestServer()
  }
}
