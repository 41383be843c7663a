import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { demoFile, VENDORS, vendorFile, vendorsIn } from '@/config/catalogue.ts'
import { readConfigFile } from '@/config/file.ts'
import { SettingsError } from '@/config/settings.ts'
import { FORMATS } from '@/generation/format.ts'

const KEYS = { OPENAI_API_KEY: 'one', ANTHROPIC_API_KEY: 'two', GEMINI_API_KEY: 'three' }

test.each(VENDORS.map(vendor => [vendor.name, vendor] as const))(
  'the catalogue of %s is a valid file',
  (_, vendor) => {
    const file = vendorFile([vendor], KEYS)
    expect(file.channels.length).toBeGreaterThan(0)
    expect(file.models.length).toBeGreaterThan(3)
    for (const channel of file.channels)
      expect(channel.apiKeys).toEqual([KEYS[vendor.variable as keyof typeof KEYS]])
    for (const model of file.models) {
      expect(model.prices).toHaveProperty('input')
      expect(model.contextTokens).toBeGreaterThan(0)
    }
  },
)

test('vendors are those whose key is in the environment', () => {
  expect(vendorsIn({ ANTHROPIC_API_KEY: 'x', OPENAI_API_KEY: '' }).map(vendor => vendor.name)).toEqual([
    'Anthropic',
  ])
})

test('all vendors fit into one file, no name twice', () => {
  const file = vendorFile(VENDORS, KEYS)
  const names = file.models.flatMap(model => [model.id, ...model.aliases])
  expect(new Set(names).size).toBe(names.length)
})

test.each([' ', 'sk-one\n', 'sk two', 'ключ'])(
  'a vendor has no key that is %j, and the variable is named',
  key => {
    expect(() => vendorFile(VENDORS, { ...KEYS, GEMINI_API_KEY: key })).toThrow(
      new SettingsError(['GEMINI_API_KEY is set but must be a key: printable ASCII without white space']),
    )
  },
)

test('the demo needs no environment and speaks every format', () => {
  const file = demoFile()
  expect(file.channels.map(channel => channel.format).toSorted()).toEqual([...FORMATS].toSorted())
  expect(file.models).toMatchObject([{ id: 'demo/echo' }])
  expect(file.models[0]?.routes.map(route => route.upstreamModel)).toEqual(['echo', 'echo', 'echo', 'echo'])
})

test('the example is a valid file', async () => {
  const path = join(import.meta.dir, '../../examples/tollgate.yaml')
  const file = await readConfigFile(path, KEYS, { channels: new Set() })
  expect(file.channels).toHaveLength(3)
  expect(file.models.map(model => model.id)).toEqual(['gpt-5.1', 'claude-sonnet-5-5', 'assistant'])
})
