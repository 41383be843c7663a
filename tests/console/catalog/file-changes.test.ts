import { expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { parseConfigFile } from '@/config/file.ts'
import { readActs } from '@/console/acts.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'

const database = await fileDatabase()

const CHANNEL = `{ name: main, format: openai-responses, base_url: "https://api.example.com",
  api_keys: [sk-of-the-vendor-0042], headers: { x-secret-token: header-value } }`
const MODEL = '{ id: acme/one, channels: [{ channel: main }], prices: { input: 1, output: 2 } }'
const FILE = `
channels: [${CHANNEL}]
models: [${MODEL}]
trial_credit: "2.50"
console: { signup: true, smtp: { host: mail.example.com, password: pass-word-of-mail, from: t@example.com } }
`

async function actsOf(yaml: string, options: { prune?: boolean; dryRun?: boolean } = {}) {
  const [last] = await readActs(database.orm, NEWEST)
  const file = parseConfigFile(yaml, {
    name: 'tollgate.yaml',
    env: {},
    known: { channels: new Set(['main']) },
  })
  await applyFile(database, box, file, { prune: false, dryRun: false, source: 'file', ...options })
  const acts = await readActs(database.orm, { ...NEWEST, limit: 100 })
  return acts.filter(({ id }) => id > (last?.id ?? 0)).toReversed()
}

const NEWEST = { before: undefined, limit: 1, action: undefined, userId: undefined, target: undefined }

test('what a file changes is in the log of acts, once, with what was before and after, and without secrets', async () => {
  expect(await actsOf(FILE, { dryRun: true })).toEqual([])
  const first = await actsOf(FILE)
  expect(first).toMatchObject([
    { email: 'tollgate.yaml', userId: null, action: 'channel.create', target: 'channel main', before: null },
    { action: 'model.create', target: 'model acme/one', after: { prices: { input: '1', output: '2' } } },
    { action: 'settings.change', before: { trial_credit: '1.00' }, after: { trial_credit: '2.5' } },
    {
      action: 'settings.console',
      before: { signup: false, smtp: null },
      after: { signup: true, smtp: { host: 'mail.example.com', port: 587 }, stripe: false },
    },
  ])
  expect(await actsOf(FILE)).toEqual([])
  expect(await actsOf(FILE.replace('input: 1', 'input: 1.5'))).toMatchObject([
    {
      action: 'model.change',
      before: { prices: { input: '1', output: '2' } },
      after: { prices: { input: '1.5', output: '2' } },
    },
  ])
  const mail = await actsOf(
    FILE.replace('input: 1', 'input: 1.5').replace('pass-word-of-mail', 'another-word'),
  )
  expect(mail.map(({ action }) => action)).toEqual(['settings.console'])
  const last = await actsOf('currency: USD', { prune: true })
  expect(last.map(({ action, target, after }) => ({ action, target, gone: after === null }))).toEqual([
    { action: 'channel.delete', target: 'channel main', gone: true },
    { action: 'model.delete', target: 'model acme/one', gone: true },
    { action: 'settings.change', target: 'settings', gone: false },
    { action: 'settings.console', target: 'settings', gone: false },
  ])
  const everything = JSON.stringify([...first, ...mail, ...last])
  for (const secret of ['sk-of-the-vendor', 'header-value', 'pass-word-of-mail', 'another-word']) {
    expect(everything).not.toContain(secret)
  }
})

test('a file that is refused leaves no line in the log', async () => {
  await actsOf(FILE)
  const [before] = await readActs(database.orm, NEWEST)
  const taken = `models: [{ id: acme/two, aliases: [acme/one], channels: [{ channel: main }] }]\ncurrency: EUR`
  await expect(actsOf(taken)).rejects.toThrow('already a name of model')
  expect(await readActs(database.orm, NEWEST)).toEqual(before === undefined ? [] : [before])
})
