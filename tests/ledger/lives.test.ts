import { afterAll, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import { ledgerFixture } from './fixture.ts'
import { deathsOf, runLives, type Wrong } from './lives.ts'

const fixture = await ledgerFixture()
afterAll(() => fixture.close())

/** More, and each statement, with `bun run chaos lives`. */
const EVERY = 3
/** Among them are several that tell if a charge is not noted, or what was left is not adopted, or a journal not replayed. */
const SEEDS = [7, 8, 9, 10, 11, 12, 13, 14]

test('a process that is killed at one of its statements leaves a ledger in which each cent is explained', async () => {
  const { asked } = await runLives(fixture, 0, [])
  const wrong: Wrong[] = []
  for (let statement = 1; statement <= (asked[0] ?? 0); statement += EVERY) {
    wrong.push(...(await runLives(fixture, 0, [{ statement, isDone: statement % 2 === 0 }])).wrong)
  }
  expect(wrong).toEqual([])
  await expectGreen()
}, 600_000)

test('processes that are killed one after the other leave a ledger in which each cent is explained', async () => {
  const wrong: Wrong[] = []
  for (const seed of SEEDS) {
    wrong.push(...(await runLives(fixture, seed, deathsOf(seed))).wrong)
  }
  expect(wrong).toEqual([])
  await expectGreen()
}, 600_000)

async function expectGreen(): Promise<void> {
  const { checks } = await audit(fixture.database.url)
  expect(checks.filter(check => check.count > 0 && !check.informational)).toEqual([])
}
