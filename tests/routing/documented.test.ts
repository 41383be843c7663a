import { beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { parseConfigFile } from '@/config/file.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { channel, model, setting } from '@/db/schema.ts'
import { Affinity } from '@/routing/affinity.ts'
import { countsOf } from '@/routing/catalog/apply.ts'
import { loadCatalog, readChannelIds } from '@/routing/catalog/store.ts'
import { Concurrency } from '@/routing/concurrency.ts'
import { Health } from '@/routing/health/health.ts'
import { Selector } from '@/routing/selector.ts'

const ROOT = join(import.meta.dir, '../..')
const db = await fileDatabase()

beforeEach(async () => {
  await db.orm.delete(model)
  await db.orm.delete(channel)
  await db.orm.delete(setting)
})

const EXAMPLE = readFileSync(join(ROOT, 'examples/tollgate.yaml'), 'utf8')

/** Every piece of tollgate.yaml that a reader may copy, by where it stands. */
const PIECES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map(name => `docs/${name}`)]
  .filter(path => path.endsWith('.md'))
  .flatMap(path =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm)].map(
      ([, indent = '', text = ''], index) =>
        [`${path}, ${index + 1}`, text.replace(new RegExp(`^${indent}`, 'gm'), '')] as const,
    ),
  )

/** Every variable that a file names is set to a key of its own. */
async function applied(text: string) {
  const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name)
  const env = Object.fromEntries(names.map(name => [name, `sk-${name.toLowerCase()}`]))
  const known = { channels: new Set((await readChannelIds(db.orm)).keys()) }
  const file = parseConfigFile(text, { name: 'tollgate.yaml', env, known })
  const done = await applyFile(db, box, file, { prune: false, dryRun: false, source: 'file' })
  return { channels: countsOf(done.channels), models: countsOf(done.models) }
}

/** Some pieces are about models only: the channels that they name, as they may be declared elsewhere. */
function channelsBehind(text: string): string {
  if (/^channels:/m.test(text)) return 'channels: []'
  const names = new Set([...text.matchAll(/\bchannel: ([\w-]+)/g)].map(([, name]) => name))
  const declared = [...names].map(
    name => `{ name: ${name}, format: openai-chat-completions, base_url: "simulator:" }`,
  )
  return `channels: [${declared.join(', ')}]`
}

test.each(
  PIECES.filter(([, text]) => /^(?:channels|models|limits|fetch_media|operator_headers):/m.test(text)),
)('the file in %s can be applied as it stands', async (_, text) => {
  await applied(channelsBehind(text))
  await applied(text)
  expect((await applied(text)).channels).toEqual({ added: 0, changed: 0, removed: 0 })
})

test('examples/simulator.yaml can be applied', async () => {
  const text = readFileSync(join(ROOT, 'examples/simulator.yaml'), 'utf8')
  expect(await applied(text)).toMatchObject({ channels: { added: 4 }, models: { added: 9 } })
})

describe('examples/tollgate.yaml', () => {
  test('can be applied, and applied again', async () => {
    expect(await applied(EXAMPLE)).toMatchObject({ channels: { added: 3 }, models: { added: 3 } })
    expect(await applied(EXAMPLE)).toMatchObject({
      channels: { added: 0, changed: 0, removed: 0 },
      models: { added: 0, changed: 0, removed: 0 },
    })
  })

  test('has a model on two vendors: the second serves when the first fails', async () => {
    await applied(EXAMPLE)
    const assistant = (await loadCatalog(db, box)).find('assistant')
    const clock = manualClock()
    const random = () => 0.5
    const health = new Health({ clock, random })
    const selector = new Selector({
      health,
      concurrency: new Concurrency(() => 1),
      affinity: new Affinity(clock),
      clock,
      random,
    })
    const order = () => {
      const headers = new Headers()
      const { ready } = selector.select(assistant?.routes ?? [], {
        accountId: 1,
        model: 'assistant',
        format: 'openai-responses',
        headers,
        body: {},
      })
      return ready.map(({ route }) => route.channel.vendor)
    }
    expect(order()).toEqual(['api.openai.com', 'api.anthropic.com'])
    const [first] = assistant?.routes ?? []
    if (first === undefined) throw new Error('the example has no model "assistant"')
    for (let failures = 0; failures < 5; failures += 1) {
      const ticket = health.beginAnyway(first.channel, first.channel.keys[0], first.upstreamModel)
      ticket.report({ kind: 'upstream_error', retryAfterMs: undefined, reason: 'status 500' })
    }
    expect(order()).toEqual(['api.anthropic.com'])
  })
})
