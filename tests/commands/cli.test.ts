import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { and, eq } from 'drizzle-orm'
import { SECRET } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { adminAct, apiKey } from '@/db/schema.ts'

// A test runs up to ten processes, and machines are slow at times.
setDefaultTimeout(120_000)

const db = await testDatabase()
const directory = mkdtempSync(join(tmpdir(), 'tollgate-cli-'))
const MAIN = join(import.meta.dir, '../../src/main.ts')

const FILE = `
channels: [{ name: main, format: openai-responses, base_url: "simulator:" }]
models:
  - { id: one, aliases: [first], channels: [{ channel: main }], enabled_by_default: false, prices: { per_request: 1 } }
  - { id: two, channels: [{ channel: main }], prices: { per_request: 1 } }
trial_credit: "2.50"
`

afterAll(async () => {
  rmSync(directory, { recursive: true })
  await db.close()
})

function path(name: string, text: string): string {
  const file = join(directory, name)
  writeFileSync(file, text)
  return file
}

interface Run {
  exitCode: number
  stdout: string
  stderr: string
}

const ENV = {
  PATH: process.env['PATH'],
  DATABASE_URL: db.url,
  TOLLGATE_SECRET: SECRET,
}

function spawn(words: readonly string[], env: Readonly<Record<string, string | undefined>> = ENV) {
  return Bun.spawn([process.execPath, MAIN, ...words], {
    cwd: directory,
    env,
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

/** The program as a process of its own. */
async function run(...words: string[]): Promise<Run> {
  return finish(spawn(words))
}

async function finish(child: ReturnType<typeof spawn>): Promise<Run> {
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exitCode: await child.exited, stdout, stderr }
}

/** The one JSON value that a command prints, which must be all that it prints. */
async function json(...words: string[]) {
  const { exitCode, stdout, stderr } = await run(...words, '--json')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** What the console's log says was done to something by command, in that order. */
async function actsOn(target: string) {
  const { action, after } = adminAct
  const done = and(eq(adminAct.target, target), eq(adminAct.email, 'command line'))
  return db.orm.select({ action, after }).from(adminAct).where(done).orderBy(adminAct.id)
}

beforeAll(async () => {
  await json('apply', path('tollgate.yaml', FILE))
})

describe('migrate and apply', () => {
  test('migrate tells how many migrations it applied', async () => {
    expect(await json('migrate')).toEqual({ applied: 0 })
    expect((await run('migrate')).stdout).toBe('0 migrations applied\n')
  })

  test('apply counts, and a second time finds nothing to do', async () => {
    const file = path('more.yaml', FILE.replace('id: two,', 'id: two, display_name: Two,'))
    const none = { added: 0, changed: 0, removed: 0 }
    const quiet = { warnings: [], unserved: [] }
    const changed = { channels: none, models: { added: 0, changed: 1, removed: 0 }, ...quiet }
    expect(await json('apply', file, '--dry-run')).toEqual(changed)
    expect(await json('apply', file)).toEqual(changed)
    expect(await json('apply', file)).toEqual({ channels: none, models: none, ...quiet })
  })

  test('people get an aligned table', async () => {
    const { stdout } = await run('apply', path('tollgate.yaml', FILE), '--dry-run')
    expect(stdout).toBe(
      '          added  changed  removed\n' +
        'channels      0        0        0\n' +
        'models        0        1        0\n' +
        'nothing was written (--dry-run)\n',
    )
  })

  test('prune removes what the file does not name', async () => {
    const extra = path(
      'extra.yaml',
      'models: [{ id: three, channels: [{ channel: main }], prices: { input: 1 } }]',
    )
    expect((await json('apply', extra)).models.added).toBe(1)
    expect((await json('apply', path('tollgate.yaml', FILE), '--prune')).models.removed).toBe(1)
  })

  test('a price that jumps is applied and told', async () => {
    const priced = (input: string) =>
      path(
        'priced.yaml',
        `models: [{ id: priced, channels: [{ channel: main }], prices: { input: ${input} } }]`,
      )
    await json('apply', priced('1.25'))
    const jump = { model: 'priced', rate: 'input', from: '1.25', to: '12.5', applied: true }
    const { stdout, stderr } = await run('apply', priced('12.5'), '--dry-run', '--json')
    expect(JSON.parse(stdout).warnings).toEqual([jump])
    expect(stderr).toBe('warning: the price of priced (input) jumps from 1.25 to 12.5\n')
    await json('apply', path('tollgate.yaml', FILE), '--prune')
  })

  test('what every caller would be refused is applied and told: no prices, surfaces that no channel serves', async () => {
    const channels = `channels:
  - { name: messages, format: anthropic-messages, base_url: "simulator:" }
  - { name: gemini, format: gemini-generate-content, base_url: "simulator:" }`
    const models = `models:
  - { id: unpriced, channels: [{ channel: gemini }] }
  - { id: free, channels: [{ channel: messages }], prices: { input: 0, output: 0 } }
  - { id: vectors, channels: [{ channel: messages }], prices: { input: 1 } }
  - { id: voice, channels: [{ channel: messages }, { channel: gemini }], surfaces: [chat, audio], prices: { input: 1, output: 1 } }
  - { id: film, channels: [{ channel: messages }, { channel: gemini }], prices: { per_video_second: 1 } }
  - { id: elsewhere, channels: [{ channel: messages }, { channel: main }], surfaces: [audio], prices: { input: 1, output: 1 } }`
    const file = path('odd.yaml', `${channels}\n${models}`)
    const { exitCode, stdout, stderr } = await run('apply', file, '--dry-run', '--json')
    expect(exitCode).toBe(0)
    const told = [
      'the model unpriced has no prices: until it has, every request of it is refused',
      'the model vectors is offered for embeddings, which none of its channels can serve',
      'the model voice is offered for audio, which none of its channels can serve',
    ]
    expect(stderr).toBe(told.map(line => `warning: ${line}\n`).join(''))
    expect(JSON.parse(stdout).unserved).toEqual(told)
  })

  test('another currency is applied and told, since it exchanges no amount', async () => {
    const warning = (from: string, to: string) =>
      `warning: the currency was ${from} and is ${to}: balances and prices that are there keep their numbers\n`
    const euros = path('euros.yaml', `${FILE}\ncurrency: EUR\n`)
    expect((await run('apply', euros, '--json')).stderr).toBe(warning('USD', 'EUR'))
    expect((await run('apply', euros, '--json')).stderr).toBe('')
    const back = await run('apply', path('tollgate.yaml', FILE), '--prune', '--json')
    expect(back.stderr).toBe(warning('EUR', 'USD'))
  })

  test('a wrong file is one line per error, and nothing of it is applied', async () => {
    const file = path(
      'wrong.yaml',
      'trial_credit: 9\nmodels:\n  - { id: x, channels: [{ channel: gone }] }\n  - { id: y }\n',
    )
    const { exitCode, stdout, stderr } = await run('apply', file, '--json')
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toBe(
      `${file}:3: models[0].channels[0].channel: there is no channel named "gone"\n` +
        `${file}:4: models[1].channels: is missing\n`,
    )
    expect((await json('account', 'create', '--email', 'after-wrong-file@x')).balance).toBe('2.500000000')
  })

  test('a name of a model that stays in the database is a line with its place', async () => {
    await json(
      'apply',
      path(
        'kept.yaml',
        'models: [{ id: kept, aliases: [k], channels: [{ channel: main }], prices: { input: 1 } }]',
      ),
    )
    const taken = path('taken.yaml', 'models:\n  - { id: k, channels: [{ channel: main }] }\n')
    const { exitCode, stderr } = await run('apply', taken)
    expect([exitCode, stderr]).toEqual([
      1,
      `${taken}:2: models[0].id: "k" is already a name of model "kept" in the database\n`,
    ])
    await json('apply', path('tollgate.yaml', FILE), '--prune')
  })

  test('a file that is not there is one line', async () => {
    const { exitCode, stderr } = await run('apply', 'nowhere.yaml')
    expect([exitCode, stderr]).toEqual([1, 'nowhere.yaml: cannot be read (ENOENT)\n'])
  })
})

describe('account', () => {
  test('create gives the trial credit, or what --credit says', async () => {
    expect(await json('account', 'create', '--email', 'Trial@X.example')).toEqual({
      id: expect.any(Number),
      email: 'trial@x.example',
      balance: '2.500000000',
    })
    expect((await json('account', 'create', '--email', 'paid@x', '--credit', '5.00')).balance).toBe(
      '5.000000000',
    )
  })

  test('create says who is on trial, and whose content is never kept', async () => {
    const { id } = await json('account', 'create', '--email', 'private@x', '--no-store')
    expect(await json('account', 'show', `${id}`)).toMatchObject({ on_trial: true, store: false })
  })

  test('create gives models by id or alias', async () => {
    const { id } = await json('account', 'create', '--email', 'models@x', '--models', 'first,two')
    expect((await json('account', 'show', String(id))).models).toEqual(['one', 'two'])
  })

  test('show, limits, suspend and resume', async () => {
    const { id } = await json('account', 'create', '--email', 'life@x', '--credit', '1')
    const shown = await json('account', 'show', `${id}`)
    expect(shown).toEqual({
      id,
      email: 'life@x',
      status: 'active',
      balance: '1.000000000',
      available: '1.000000000',
      pending: '0.000000000',
      on_trial: false,
      models: [],
      limits: { requests_per_minute: null, tokens_per_minute: null, concurrent_requests: null },
      store: true,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      expiring: [],
    })
    expect((await json('account', 'limits', `${id}`, '--rpm', '5', '--tpm', '100')).limits).toEqual({
      requests_per_minute: 5,
      tokens_per_minute: 100,
      concurrent_requests: null,
    })
    expect(
      (await json('account', 'limits', `${id}`, '--rpm', 'default')).limits.requests_per_minute,
    ).toBeNull()
    expect((await json('account', 'store', `${id}`, 'forbid')).store).toBe(false)
    expect((await json('account', 'store', `${id}`, 'allow')).store).toBe(true)
    expect((await json('account', 'suspend', `${id}`)).status).toBe('suspended')
    expect((await json('account', 'resume', `${id}`)).status).toBe('active')
    expect(await json('account', 'list')).toContainEqual(expect.objectContaining({ id, email: 'life@x' }))
    const limits = { requests_per_minute: 5, tokens_per_minute: 100, concurrent_requests: null }
    expect(await actsOn(`account ${id}`)).toEqual([
      {
        action: 'account.create',
        after: { email: 'life@x', credit: '1.000000000', models: [], store: true },
      },
      { action: 'account.limits', after: limits },
      { action: 'account.limits', after: { ...limits, requests_per_minute: null } },
      { action: 'account.store', after: { store: false } },
      { action: 'account.store', after: { store: true } },
      { action: 'account.suspend', after: { status: 'suspended' } },
      { action: 'account.resume', after: { status: 'active' } },
    ])
  })

  test('close, reopen and erase do so, and the log says why', async () => {
    const { id } = await json('account', 'create', '--email', 'ending@x', '--credit', '0')
    await json('key', 'create', '--account', `${id}`)
    const keyStates = async () =>
      (await json('key', 'list', '--account', `${id}`)).map(({ status }: { status: string }) => status)
    expect((await json('account', 'close', `${id}`, '--reason', 'moved')).status).toBe('closed')
    expect(await keyStates()).toEqual(['revoked'])
    expect((await json('account', 'reopen', `${id}`, '--reason', 'back')).status).toBe('active')
    expect(await keyStates()).toEqual(['revoked'])
    expect((await run('account', 'erase', `${id}`, '--reason', 'law')).exitCode).toBe(1)
    await json('account', 'close', `${id}`, '--reason', 'gone')
    const erased = await json('account', 'erase', `${id}`, '--reason', 'law')
    expect(erased).toMatchObject({ id, status: 'closed' })
    expect(erased.email).not.toBe('ending@x')
    expect(await actsOn(`account ${id}`)).toEqual([
      { action: 'account.create', after: expect.objectContaining({ credit: '0.000000000' }) },
      { action: 'account.close', after: expect.objectContaining({ status: 'closed', reason: 'moved' }) },
      { action: 'account.reopen', after: expect.objectContaining({ status: 'active', reason: 'back' }) },
      { action: 'account.close', after: expect.objectContaining({ status: 'closed', reason: 'gone' }) },
      { action: 'account.erase', after: expect.objectContaining({ status: 'closed', reason: 'law' }) },
    ])
  })

  test('without --json people get text: a page for one account, a table for all', async () => {
    const { id } = await json('account', 'create', '--email', 'text@x', '--credit', '1')
    expect((await run('account', 'show', `${id}`)).stdout).toContain('balance              1.000000000\n')
    const table = (await run('account', 'list')).stdout.split('\n')
    expect(table[0]).toMatch(/^id +email +status +balance +models$/)
    expect(table.some(line => /text@x +active +1\.000000000$/.test(line))).toBe(true)
  })
})

describe('key', () => {
  test('create shows the key once; list tells everything else about it', async () => {
    const account = `${(await json('account', 'create', '--email', 'keys@x')).id}`
    const words = [
      '--name',
      'ci',
      '--models',
      'first',
      '--expires',
      '2999-01-31',
      '--cap',
      '2.00/month',
      '--allow-ip',
      '10.0.0.0/8,::1',
      '--no-store',
      '--rpm',
      '60',
      '--concurrent',
      '4',
    ]
    const { id, key } = await json('key', 'create', '--account', account, ...words)
    expect(key).toMatch(/^sk-[0-9A-Za-z]{57}$/)
    const rows = await json('key', 'list', '--account', account)
    expect(rows).toEqual([
      {
        id,
        account_id: Number(account),
        name: 'ci',
        prefix: key.slice(0, 11),
        status: 'active',
        models: ['one'],
        expires_at: '2999-01-31T00:00:00.000Z',
        allow_ips: ['10.0.0.0/8', '::1'],
        cap: { amount: '2.000000000', period: 'month' },
        store: false,
        limits: { requests_per_minute: 60, tokens_per_minute: null, concurrent_requests: 4 },
        created_at: expect.any(String),
        last_used_at: null,
        revoked_at: null,
      },
    ])
    expect(
      JSON.stringify(await db.orm.select({ name: apiKey.name, lookup: apiKey.lookup }).from(apiKey)),
    ).not.toContain(key)
    const limited = await json('key', 'limits', `${id}`, '--rpm', 'default', '--tpm', '1000')
    expect(limited.limits).toEqual({
      requests_per_minute: null,
      tokens_per_minute: 1000,
      concurrent_requests: 4,
    })
    expect(await json('key', 'revoke', `${id}`)).toMatchObject({
      id,
      status: 'revoked',
      revoked_at: expect.any(String),
    })
    expect(await actsOn(`key ${id}`)).toEqual([
      { action: 'key.create', after: { account_id: Number(account) } },
      { action: 'key.limits', after: limited.limits },
      { action: 'key.revoke', after: { account_id: Number(account), revoked: true } },
    ])
  })

  test('people get the key and a warning, and a table', async () => {
    const account = `${(await json('account', 'create', '--email', 'people@x')).id}`
    const { stdout } = await run('key', 'create', '--account', account)
    expect(stdout).toMatch(/^sk-\S+\n\nThis is key \d+\. It is not shown again: keep it now\.\n$/)
    expect((await run('key', 'list', '--account', account)).stdout).toMatch(
      /^id +name +key +status +models +expires +cap +last used\n *\d+ +sk-\S{8}\.\.\. +active +all +never +none +never\n$/,
    )
  })

  test('that lets nobody in is not called active', async () => {
    const account = `${(await json('account', 'create', '--email', 'shut@x')).id}`
    const ids = [0, 1, 2].map(async () => (await json('key', 'create', '--account', account)).id)
    const [good, ended, revoked] = await Promise.all(ids)
    await db.sql`update api_key set expires_at = now() where id = ${ended}`
    await json('key', 'revoke', `${revoked}`)
    const statuses = async () =>
      Object.fromEntries(
        (await json('key', 'list', '--account', account)).map((row: { id: number; status: string }) => [
          row.id,
          row.status,
        ]),
      )
    expect(await statuses()).toEqual({ [good]: 'active', [ended]: 'expired', [revoked]: 'revoked' })
    await json('account', 'suspend', account)
    expect(await statuses()).toEqual({ [good]: 'suspended', [ended]: 'expired', [revoked]: 'revoked' })
    expect(await json('key', 'limits', `${good}`, '--rpm', '9')).toMatchObject({ status: 'suspended' })
    expect((await run('key', 'list', '--account', account)).stdout).toMatch(/ suspended +all /)
  })

  test('that nobody narrowed has no models, end, addresses, cap or limits of its own', async () => {
    const account = `${(await json('account', 'create', '--email', 'plain@x')).id}`
    await json('key', 'create', '--account', account)
    expect(await json('key', 'list', '--account', account)).toMatchObject([
      {
        models: null,
        expires_at: null,
        allow_ips: null,
        cap: null,
        store: true,
        limits: { requests_per_minute: null, tokens_per_minute: null, concurrent_requests: null },
      },
    ])
  })
})

describe('a refusal is one line on stderr and exit code 1', () => {
  test.each<[string[], string]>([
    [['account', 'create', '--email', 'm@x', '--models', 'nothing'], 'There is no model "nothing"'],
    [['account', 'show', '999999'], 'There is no account 999999'],
    [['account', 'suspend', '999999'], 'There is no account 999999'],
    [['account', 'resume', '999999'], 'There is no account 999999'],
    [['key', 'create', '--account', '999999'], 'There is no account 999999'],
    [['key', 'create', '--account', '999999', '--models', 'nothing'], 'There is no model "nothing"'],
    [['key', 'list', '--account', '999999'], 'There is no account 999999'],
    [['key', 'revoke', '999999'], 'There is no key 999999'],
  ])('%j', async (words, line) => {
    expect(await run(...words, '--json')).toEqual({ exitCode: 1, stdout: '', stderr: `tollgate: ${line}\n` })
  })

  test('an address that is taken', async () => {
    await json('account', 'create', '--email', 'taken@x')
    const { exitCode, stderr } = await run('account', 'create', '--email', 'TAKEN@x')
    expect([exitCode, stderr]).toEqual([
      1,
      'tollgate: There is an account with the e-mail address taken@x already\n',
    ])
  })

  test('a database that is not there', async () => {
    const env = { ...ENV, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' }
    const { exitCode, stdout, stderr } = await finish(spawn(['migrate'], env))
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^tollgate: .*\n$/)
  })

  test('another secret than the one that the database was used with', async () => {
    const env = { ...ENV, TOLLGATE_SECRET: 'another secret of thirty-two bytes!!' }
    const { exitCode, stderr } = await finish(spawn(['apply', path('tollgate.yaml', FILE)], env))
    expect(exitCode).toBe(1)
    expect(stderr).toStartWith('tollgate: TOLLGATE_SECRET is not the one')
  })
})

describe('wrong words exit 2 with the usage, and print nothing on stdout', () => {
  test.each<[string[], string]>([
    [[], 'a command is missing'],
    [['frobnicate', '--json'], 'there is no command "frobnicate"'],
    [['account'], 'there is no command "account"'],
    [['account', 'delete', '1'], 'there is no command "account delete"'],
    [['apply'], 'FILE is missing'],
    [['apply', 'a', 'b'], '"b" is one word too many'],
    [['migrate', '--force'], "Unknown option '--force'"],
    [['account', 'create'], '--email is missing'],
    [['account', 'create', '--email', 'nobody'], '--email is "nobody" but must be an e-mail address'],
    [['admin', 'invite', '--email', 'a\u200b@x'], '--email is "a\u200b@x" but must be an e-mail address'],
    [['account', 'create', '--email', 'a@x', '--credit', '-1'], '--credit'],
    [
      ['account', 'create', '--email', 'a@x', '--credit', 'much'],
      '--credit is "much" but must be a decimal amount',
    ],
    [['account', 'show'], 'ID is missing'],
    [['account', 'show', 'me'], 'ID is "me" but must be a number'],
    [['account', 'close', '1'], '--reason is missing'],
    [
      ['account', 'close', '1', '--reason', 'two\nlines'],
      '--reason must be one line of at most 500 characters',
    ],
    [['account', 'credit', '1', '5', '--reason', 'paid \u202e001'], '--reason must be one line'],
    [['charge', 'lost', '--reason', '\u200b'], '--reason must be one line'],
    [['account', 'store', '1', 'maybe'], '"maybe" is neither allow nor forbid'],
    [['account', 'limits', '1'], 'one of --rpm, --tpm, --concurrent must be there'],
    [
      ['account', 'limits', '1', '--rpm', '0'],
      '--rpm is "0" but must be a whole number above 0, or "default"',
    ],
    [['key', 'create'], '--account is missing'],
    [
      ['key', 'create', '--account', '1', '--cap', '2.00'],
      '--cap is "2.00" but must be an amount per day, week, month, total',
    ],
    [
      ['key', 'create', '--account', '1', '--cap', '2.00/month/day'],
      '--cap is "2.00/month/day" but must be an amount per day, week, month, total',
    ],
    [
      ['key', 'create', '--account', '1', '--cap', '0/month'],
      '--cap is "0/month", by which the key could spend nothing: leave it out for no cap, or revoke the key',
    ],
    [['key', 'create', '--account', '1', '--expires', 'soon'], '--expires is "soon" but must be an ISO time'],
    [
      ['key', 'create', '--account', '1', '--expires', '2020-01-01'],
      '--expires is "2020-01-01" but must be in the future',
    ],
    [
      ['key', 'create', '--account', '1', '--allow-ip', '10.0.0.0/33'],
      '--allow-ip holds "10.0.0.0/33" but must hold',
    ],
    [['key', 'create', '--account', '1', '--models', ','], '--models is empty'],
    [['key', 'create', '--account', '1', '--name', 'two\nlines'], '--name must be one line'],
    [['key', 'create', '--account', '1', '--name', '\u200b'], '--name must be one line'],
    [['account', 'credit', '1', '9223372037', '--reason', 'typo'], 'is below 9223372036'],
    [
      ['account', 'create', '--email', 'a@x', '--credit', '5', '--credit', '500'],
      '--credit is there more than once',
    ],
    [['simulator', '--port', '65536'], '--port is "65536" but must be a whole number from 0 to 65535'],
  ])('%j', async (words, message) => {
    const { exitCode, stdout, stderr } = await run(...words)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toStartWith('tollgate')
    expect(stderr.split('\n')[0]).toContain(message)
    expect(stderr.split('\n')[0]).not.toContain('To specify')
    expect(stderr).toContain('usage: tollgate')
  })

  test('a wrong environment is exit code 2 and a line that names the variable', async () => {
    const { exitCode, stdout, stderr } = await finish(spawn(['migrate'], { ...ENV, PORT: 'x' }))
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: 'PORT is "x" but must be a whole number from 0 to 65535\n',
    })
  })
})

describe('--help', () => {
  test.each([
    'serve',
    'migrate',
    'apply',
    'account create',
    'account list',
    'account show',
    'account suspend',
    'account resume',
    'account close',
    'account reopen',
    'account erase',
    'account limits',
    'account store',
    'key create',
    'key list',
    'key limits',
    'key revoke',
    'simulator',
  ])('%s', async name => {
    const { exitCode, stdout, stderr } = await run(...name.split(' '), '--help')
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toStartWith(`usage: tollgate ${name}`)
  })

  test('alone it lists every command, after "account" those of accounts', async () => {
    expect((await run('--help')).stdout).toContain('  key create')
    const { exitCode, stdout } = await run('account', '--help')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('  account create')
    expect(stdout).not.toContain('  key create')
  })
})

test('--version says which Tollgate this is, without a database', async () => {
  const { version } = await Bun.file(join(import.meta.dir, '../../package.json')).json()
  const asked = await finish(spawn(['--version'], { PATH: ENV.PATH }))
  expect(asked).toEqual({ exitCode: 0, stdout: `tollgate ${version}\n`, stderr: '' })
})

describe('output that nobody takes', () => {
  const shell = async (script: string) => {
    const child = Bun.spawn(['bash', '-c', script, 'bash', process.execPath, MAIN], {
      env: ENV,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    return finish(child)
  }

  test('a reader that leaves early is no failure', async () => {
    const create = '"$1" "$2" redeem create --amount 1 --count 10000'
    const { stdout, stderr } = await shell(`${create} | head -n 1; echo "exit \${PIPESTATUS[0]}"`)
    expect(stdout).toMatch(/^[\dA-Z-]+\nexit 0\n$/)
    expect(stderr).toBe('')
  })

  test.skipIf(!existsSync('/dev/full'))('a disk that is full is one line and exit code 1', async () => {
    const { exitCode, stderr } = await shell('"$1" "$2" account list > /dev/full')
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^tollgate: the output cannot be written: [^\n]+\n$/)
  })
})

test('simulator says which port is taken', async () => {
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { exitCode, stdout, stderr } = await run('simulator', '--port', String(taken.port), '--json')
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `tollgate: --port ${taken.port} on 127.0.0.1 cannot be used: something else listens there\n`,
  })
  await taken.stop(true)
})

test('a DATA_DIR that cannot be made is a wrong environment', async () => {
  const child = spawn(['account', 'list'], { PATH: ENV.PATH, DATA_DIR: '/dev/null/data' })
  const { exitCode, stdout, stderr } = await finish(child)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toMatch(/^DATA_DIR is "\/dev\/null\/data" but must be a directory [^\n]+\n$/)
})

test('simulator serves until it is told to stop', async () => {
  const child = spawn(['simulator', '--port', '0', '--json'])
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const { url } = JSON.parse((await reader.read()).value ?? '')
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
    body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'hello' }] }),
  })
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'hello' } }] })
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

/** Another database of the same server. */
function elsewhere(name: string): string {
  const url = new URL(db.url)
  url.pathname = `/${name}`
  return url.href
}

/** The same database, asked for with something more. */
function withParameter(name: string, value: string): string {
  const url = new URL(db.url)
  url.searchParams.set(name, value)
  return url.href
}

describe('a database that cannot be had', () => {
  test.each([
    ['where nothing listens', 'postgres://user:hunter2@127.0.0.1:1/x', 'ECONNREFUSED'],
    ['where no socket is', withParameter('host', '/nowhere'), 'connect ENOENT'],
    ['that the server does not have', elsewhere('nothing_there'), 'does not exist'],
    ['of which a setting is unknown', withParameter('channel_binding', 'require'), '"channel_binding"'],
    ['of which a setting is wrong', withParameter('statement_timeout', 'soon'), '"statement_timeout"'],
    ['that speaks no TLS', withParameter('sslmode', 'require'), 'the server may not have'],
  ])('%s is one line that names the variable', async (_where, url, says) => {
    const child = spawn(['account', 'list'], { ...ENV, DATABASE_URL: url })
    const { exitCode, stdout, stderr } = await finish(child)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^tollgate: DATABASE_URL cannot be used: [^\n]+\n$/)
    expect(stderr).toContain(says)
    expect(stderr).not.toContain('hunter2')
  })
})
