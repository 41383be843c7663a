import { expect, test } from 'bun:test'
import { VENDORS } from '@/config/catalogue.ts'
import { shippedModels } from '@/console/catalog/catalogue-import.ts'

test.each(VENDORS.map(({ name }) => name))('the models of %s are read from the shipped file once', name => {
  const models = shippedModels(name, [])
  expect(models.length).toBeGreaterThan(0)
  expect(shippedModels(name, [])).toBe(models)
})
