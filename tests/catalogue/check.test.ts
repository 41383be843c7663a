import { expect, test } from 'bun:test'
import { VENDORS, vendorFile } from '@/config/catalogue.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { isPriced } from '@/pricing/coverage.ts'
import { checkCatalogue } from './check.ts'

/** The date in the header of the catalogue's files. */
const CHECKED = new Date('2026-11-20T00:00:00Z')

test('the shipped prices are those of the package at the date that the files name', () => {
  expect(checkCatalogue(CHECKED).differences).toEqual([])
})

test('what cannot be compared is known', () => {
  expect(checkCatalogue(CHECKED).missing.map(line => line.split(' ')[0])).toEqual([
    'gpt-6.1-sol',
    'gpt-6.1-terra',
    'claude-sonnet-5-5',
    'claude-haiku-5-5',
    'gemini-4-argon',
  ])
})

test('a price that changes is found: once as announced, once as different', () => {
  const before = checkCatalogue(CHECKED)
  expect(before.upcoming.filter(line => line.startsWith('gemini-3.8-flash'))).toHaveLength(1)
  const after = checkCatalogue(new Date('2027-01-02T00:00:00Z'))
  expect(after.differences).toContain(
    'gemini-3.8-flash: output at 0 prompt tokens is 3.75 here, 7.5 in the package',
  )
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
