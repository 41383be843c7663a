import { expect, test } from 'bun:test'
import { VENDORS, vendorFile } from '@/config/catalogue.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { isPriced } from '@/pricing/coverage.ts'
import { checkCatalogue, checkModel, type Findings } from './check.ts'

/** The date in the header of the catalogue's files. */
const CHECKED = new Date('2026-11-26T00:00:00Z')

test('the shipped prices are those of the package at the date that the files name', () => {
  expect(checkCatalogue(CHECKED).differences).toEqual([])
})

test('what cannot be compared is known', () => {
  expect(checkCatalogue(CHECKED).missing.map(line => line.split(' ')[0])).toEqual([
    'gpt-6.2-astra',
    'gpt-6.2-sol',
    'gpt-6.1-sol',
    'gpt-6.1-terra',
    'claude-fable-5-2',
    'claude-sonnet-5-5',
    'claude-haiku-5-5',
    'gemini-4-argon',
    'gemini-4-carbon',
    'gemini-4-hydrogen',
    'gemini-4-neon',
  ])
})

test('prices that are to change are here with their day', () => {
  expect(checkCatalogue(CHECKED).upcoming).toEqual([])
  expect(checkCatalogue(new Date('2026-12-31T00:00:00Z')).differences).toEqual([])
  expect(checkCatalogue(new Date('2027-01-02T00:00:00Z')).differences).toEqual([])
})

test('a price that is another one is found: when it differs, and before', () => {
  const spring = checkCatalogue(new Date('2026-06-01T00:00:00Z'))
  expect(spring.differences).toContain('gpt-5.6-sol: input at 0 prompt tokens is 4 here, 5 in the package')
  const model = vendorFile(VENDORS, KEYS).models.find(({ id }) => id === 'gemini-3.8-flash')
  if (model === undefined) throw new Error('gemini-3.8-flash is not in the catalogue')
  const { changes: _, ...unchanging } = model.prices ?? {}
  const findings: Findings = { differences: [], upcoming: [], missing: [] }
  checkModel({ ...model, prices: unchanging }, 'google', CHECKED, findings)
  expect(findings).toEqual({
    differences: [],
    upcoming: [expect.stringContaining('gemini-3.8-flash will cost')],
    missing: [],
  })
})

const KEYS = { OPENAI_API_KEY: 'one', ANTHROPIC_API_KEY: 'two', GEMINI_API_KEY: 'three' }

test.each(vendorFile(VENDORS, KEYS).models.map(model => [model.id, model] as const))(
  '%s has prices for what it does, and its limits',
  (_, model) => {
    const isEmbedding = model.surfaces?.includes('embeddings') ?? false
    expect(isPriced(readPrices(model.prices ?? {}), isEmbedding ? 'embedding' : 'text')).toBe(true)
    expect(model.contextTokens).toBeGreaterThan(0)
    expect(model.maxOutputTokens ?? 0).toBeGreaterThanOrEqual(isEmbedding ? 0 : 1)
  },
)
