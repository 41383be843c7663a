import { describe, expect, test } from 'bun:test'
import { addUse, imageCeiling, imageUse } from '@/exchange/operations/image-price.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { boundOf } from '@/pricing/bound.ts'
import { costOf } from '@/pricing/cost.ts'

const MAP = readPrices({
  input: '1',
  per_image: { '1024x1024': '0.04', '1024x1024/hd': '0.08', '512x512': '0.02', high: '0.5', default: '0.1' },
})
const TOKENS = readPrices({ input: '5', output: '40' })

const work = (sizes: string[], quality: string | undefined, count = 1) => ({
  facts: { sizes, quality },
  count,
  partial: 0,
  textTokens: 10,
  inputs: 0,
  frames: 1,
  authored: false,
})

describe('what is set aside for an image', () => {
  test.each([
    ['a size and a quality that are priced', ['1024x1024'], 'hd', '1024x1024/hd'],
    ['a size whose quality has no price of its own', ['1024x1024'], 'standard', '1024x1024'],
    ['a size without a quality: the dearest of that size', ['1024x1024'], undefined, '1024x1024/hd'],
    ['a quality alone', ['2048x2048'], 'high', 'high'],
    ['nothing said: the dearest of all', [], undefined, 'high'],
    ['a size that has no price: the dearest of all', ['2048x2048'], undefined, 'high'],
    ['several names of a size: the most telling that is priced', ['2K', '512x512'], 'standard', '512x512'],
  ])('%s', (_, sizes, quality, name) => {
    expect(imageCeiling(work(sizes, quality, 3), MAP).images).toEqual({ [name]: 3 })
  })

  test.each([
    [['1024x1024'], 'hd'],
    [['1024x1024'], undefined],
    [['512x512'], undefined],
    [['9x9'], 'low'],
    [[], undefined],
  ] as const)('pays for whatever is charged in the end: %p %p', (sizes, quality) => {
    const held = boundOf(imageCeiling(work([...sizes], quality), MAP), MAP)
    for (const told of ['hd', 'standard', undefined]) {
      const facts = { sizes: sizes.length === 0 ? ['1024x1024'] : sizes, quality: quality ?? told }
      const { usage, extras } = imageUse({ facts, count: 1, usage: undefined, textTokens: 10 }, MAP)
      expect(costOf(usage, MAP, extras).pico).toBeLessThanOrEqual(held)
    }
  })

  test('by tokens where images have no price: what the dearest image takes, and the partial ones', () => {
    const ceiling = imageCeiling({ ...work(['1024x1024'], 'low', 2), partial: 3, inputs: 1 }, TOKENS)
    expect(ceiling).toEqual({ inputTokens: 6510, outputTokens: 2 * (6240 + 300) })
  })
})

describe('what is set aside by tokens', () => {
  test('for a GIF counts its frames', () => {
    const ceiling = imageCeiling({ ...work([], undefined, 2), frames: 9, partial: 1 }, TOKENS)
    expect(ceiling.outputTokens).toBe(2 * (9 * 6240 + 100))
  })

  test.each([
    ['drawn by tokens', TOKENS, 6240],
    ['drawn at a price', MAP, 0],
  ])('for an SVG pays its author too: %s', (_, rates, drawn) => {
    const ceiling = imageCeiling({ ...work([], undefined), inputs: 1, authored: true }, rates)
    expect(ceiling).toMatchObject({ inputTokens: 2 * 6510 + 6500, outputTokens: drawn + 64_000 })
  })
})

describe('what an image has used', () => {
  const usage = { ...NO_USAGE, inputUncached: 50, outputText: 1000 }
  const facts = { sizes: ['1024x1024'], quality: 'hd' }

  test('with a price of its own: the image and the prompt, and no token of the image', () => {
    expect(imageUse({ facts, count: 2, usage, textTokens: 9 }, MAP)).toEqual({
      usage: { ...NO_USAGE, inputUncached: 50 },
      extras: { images: { '1024x1024/hd': 2 } },
      source: 'reported',
    })
  })

  test.each([
    ['stands there as it was called', '9x9', '9x9'],
    ['but not a text of any length', '9'.repeat(1_000_000), 'default'],
  ])('a size that has no price %s', (_, size, name) => {
    const { usage, extras } = imageUse(
      { facts: { sizes: [size], quality: undefined }, count: 1, usage: undefined, textTokens: 0 },
      MAP,
    )
    expect(extras).toEqual({ images: { [name]: 1 } })
    expect(costOf(usage, MAP, extras).pico).toBe(100_000_000_000n)
  })

  test('without: the tokens as reported, else as estimated', () => {
    expect(imageUse({ facts, count: 2, usage, textTokens: 9 }, TOKENS)).toEqual({ usage, source: 'reported' })
    expect(imageUse({ facts, count: 2, usage: undefined, textTokens: 9 }, TOKENS)).toEqual({
      usage: { ...NO_USAGE, inputUncached: 9, outputText: 2112 },
      source: 'estimated',
    })
  })

  test('two parts of an answer add up, also where one was estimated', () => {
    const one = imageUse({ facts, count: 1, usage, textTokens: 9 }, MAP)
    const other = imageUse(
      { facts: { ...facts, quality: 'sd' }, count: 1, usage: undefined, textTokens: 9 },
      MAP,
    )
    expect(addUse(one, other)).toEqual({
      usage: { ...NO_USAGE, inputUncached: 59 },
      extras: { images: { '1024x1024/hd': 1, '1024x1024': 1 } },
      source: 'estimated',
    })
  })
})
