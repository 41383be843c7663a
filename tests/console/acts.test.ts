import { expect, test } from 'bun:test'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { readActs } from '@/console/acts.ts'

const database = await fileDatabase()
const ALL = { before: undefined, limit: 100, action: undefined, userId: undefined, target: undefined }
// One a minute, but for pairs of the same moment, by one of ten.
await database.sql`
  insert into admin_act (at, user_id, email, action, target)
  select timestamptz '2026-01-01' + n / 2 * interval '1 minute', n % 10, 'ada@example.com', 'account.suspend', 'account ' || n
  from generate_series(0, 9999) n`
await database.sql`analyze admin_act`

const LONG_AGO = { from: new Date('2026-01-01T00:10:00Z'), to: new Date('2026-01-01T00:20:00Z') }

test('pages of acts go back in time, with each act on one of them', async () => {
  const targets: string[] = []
  let before: number | undefined
  for (;;) {
    const acts = await readActs(database.orm, { ...ALL, ...LONG_AGO, before, limit: 3 })
    if (acts.length === 0) break
    targets.push(...acts.map(({ target }) => target))
    before = acts.at(-1)?.id
  }
  expect(targets).toEqual(Array.from({ length: 20 }, (_, n) => `account ${39 - n}`))
})

test.each([
  [undefined, undefined, 'admin_act_at'],
  [31, undefined, 'admin_act_at'],
  [undefined, 5, 'admin_act_user'],
  [31, 5, 'admin_act_user'],
])(
  'acts of long ago are found without a look at any other one (before: %p, of user: %p)',
  async (before, userId, index) => {
    const part = { ...ALL, ...LONG_AGO, before, userId }
    const { sql, params } = readActs(database.orm, part).toSQL()
    const [explained] = await database.sql.unsafe(`explain (analyze, format json) ${sql}`, params.map(String))
    const plan = JSON.stringify(explained)
    expect(plan).toContain(`"Index Name":"${index}"`)
    expect(plan).not.toContain('Rows Removed by Filter')
  },
)
