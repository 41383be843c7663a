import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { expectGolden, pretty } from '#tests/transcripts/golden.ts'
import { DEFINITIONS } from '@/db/definitions.ts'
import * as schema from '@/db/schema.ts'
import { exchange } from '@/db/schema.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'

const database = await fileDatabase()

const folder = join(import.meta.dir, '../../drizzle')

test('drizzle/ holds a migration for everything in schema.ts (else: bun run db:generate)', async () => {
  const journal = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'))
  const number = String(journal.entries.at(-1).idx).padStart(4, '0')
  const migrated = JSON.parse(readFileSync(join(folder, `meta/${number}_snapshot.json`), 'utf8'))
  const written = generateDrizzleJson({ ...schema }, migrated.id, undefined, 'snake_case')
  expect(await generateMigration(migrated, written)).toEqual([])
})

test('src/db/definitions.json is what the migrations make (else: UPDATE_GOLDENS=1 bun test tests/db/schema.test.ts)', async () => {
  const made = await database.sql.unsafe<{ what: string; digest: string }[]>(
    `${DEFINITIONS} order by what collate "C"`,
  )
  const path = join(import.meta.dir, '../../src/db/definitions.json')
  expectGolden(path, pretty(Object.fromEntries(made.map(({ what, digest }) => [what, digest]))))
})

describe('src/db/functions/ is what the migrations make (else: UPDATE_GOLDENS=1 bun test tests/db/schema.test.ts)', async () => {
  const directory = join(import.meta.dir, '../../src/db/functions')
  const functions = await database.sql<{ name: string; definition: string }[]>`
    select proname as name, pg_get_functiondef(oid) as definition from pg_proc
    where pronamespace = 'public'::regnamespace and prokind = 'f'`

  test.each(functions)('$name', ({ name, definition }) => {
    const path = join(directory, `${name}.sql`)
    const comment = /^(-- .*\n|--\n)+/.exec(existsSync(path) ? readFileSync(path, 'utf8') : '')?.[0] ?? ''
    expectGolden(path, `${comment}${definition.trimEnd()};\n`)
    expect(comment, 'its file begins with what it is for').not.toBe('')
  })

  test('and nothing else', () => {
    const written = readdirSync(directory).map(file => basename(file, '.sql'))
    expect(written.sort()).toEqual(functions.map(({ name }) => name).sort())
  })
})

describe('the database itself refuses', () => {
  test.each([
    ['an e-mail address in capitals', `insert into account (email) values ('A@b')`, 'account_email_lower'],
    ['an unknown status', `insert into account (email, status) values ('a@b', 'gone')`, 'account_status'],
    [
      'a hash that is none',
      `with a as (insert into account (email) values ('c@d') returning id)
       insert into api_key (account_id, lookup, hash) select id, 'lookup01', 'short' from a`,
      'api_key_hash_length',
    ],
    [
      'a cap without a period',
      `with a as (insert into account (email) values ('e@f') returning id)
       insert into api_key (account_id, lookup, hash, cap_nano) select id, 'lookup02', sha256('x'), 1 from a`,
      'api_key_cap',
    ],
    [
      'a channel of nobody',
      `insert into channel (name, format, base_url, source) values ('a', 'b', 'c', 'd')`,
      'channel_source',
    ],
  ])('%s', async (_what, statement, constraint) => {
    const error = await database.sql.unsafe(statement).catch((thrown: unknown) => thrown)
    expect(sqlErrorOf(error)?.constraint).toBe(constraint)
  })
})

test('an exchange comes back as it was stored', async () => {
  const row = {
    id: Bun.randomUUIDv7(),
    accountId: 1,
    keyId: 2,
    model: 'gpt-5.1',
    channel: 'openai-main',
    channelFormat: 'openai-responses',
    surface: 'chat',
    streamed: true,
    inputUncached: 3_000_000_000,
    cacheRead: 1,
    cacheWrite5m: 2,
    cacheWrite1h: 3,
    outputText: 4,
    reasoning: 5,
    audioInput: 6,
    audioOutput: 7,
    serverTools: { web_search: 2 },
    extras: { images: { '1024x1024': 2 } },
    usageSource: 'reported',
    priceVersion: 9_007_199_254_740_993n,
    costNano: 12_346n,
    costPico: '12345678',
    status: 200,
    endState: 'complete',
    errorCode: null,
    startedAt: new Date('2026-01-02T03:04:05.678Z'),
    firstByteMs: 120,
    totalMs: 900,
    attempts: 1,
    losses: ['seed', 'a,"b"'],
    serviceTier: 'flex',
  } satisfies typeof exchange.$inferInsert
  await database.orm.insert(exchange).values(row)
  expect(await database.orm.select().from(exchange)).toEqual([{ ...row, storedAt: expect.any(Date) }])
})
