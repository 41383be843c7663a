import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { Rates } from '@/generation/rates.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'
import type { Ceiling } from '@/pricing/bound.ts'

/** What the price of an image may go by. */
export interface ImageFacts {
  /** Names of its size (`1024x1024`, `16:9`, `2K`), the most telling first; none if nobody said. */
  sizes: readonly string[]
  /** Undefined if nobody said. */
  quality: string | undefined
}

/** Tokens of an image that is made, at the most: the dearest size and quality that a vendor publishes. */
const MOST_OUTPUT = 6240
/** Tokens of an image that is brought along, at the most. */
const MOST_INPUT = 6500
/** Tokens of an image of a megapixel in middling quality, where an upstream tells nothing. */
const USUAL_OUTPUT = 1056
/** What a partial image adds. */
const PARTIAL_TOKENS = 100
/** Tokens that the author of an SVG thinks and writes, at the most: a quarter of a megabyte of XML. */
const MOST_AUTHORED = 64_000

/** The longest name of a size that is none of `per_image` and is kept all the same, for the receipt. */
const LONGEST_SIZE = 64

/** How much is made of what. */
interface ImageWork {
  facts: ImageFacts
  /** Images to be made. */
  count: number
  /** Partial images that are shown on the way. */
  partial: number
  /** Tokens of the text, estimated. */
  textTokens: number
  /** Images that are brought along. */
  inputs: number
  /** Frames of each image: more than 1 in a GIF. */
  frames: number
  /** Whether another model writes the image, from the same prompt: an SVG. */
  authored: boolean
}

/** The most that a request can use: where images have a price, that of the dearest that it may turn out to be. */
export function imageCeiling(work: ImageWork, rates: Rates): Ceiling {
  const { facts, count, partial, textTokens, inputs, frames, authored } = work
  // The author of an SVG reads the prompt once more, and what was drawn.
  const inputTokens =
    (textTokens + inputs * MOST_INPUT) * (authored ? 2 : 1) + (authored ? count * MOST_INPUT : 0)
  const written = authored ? count * MOST_AUTHORED : 0
  if (rates.perImage.size > 0) {
    return { inputTokens, outputTokens: written, images: { [dearestName(rates, facts)]: count } }
  }
  return { inputTokens, outputTokens: written + count * (MOST_OUTPUT * frames + partial * PARTIAL_TOKENS) }
}

/**
 * What images have used. Where images have a price of their own, that is what they cost, and their output tokens cost
 * nothing beside it; else the tokens do, as reported or as estimated.
 */
export function imageUse(
  made: { facts: ImageFacts; count: number; usage: Usage | undefined; textTokens: number },
  rates: Rates | undefined,
): UsedUp {
  const { facts, count, usage, textTokens } = made
  const source = usage === undefined ? 'estimated' : 'reported'
  const tokens = usage ?? { ...NO_USAGE, inputUncached: textTokens, outputText: count * USUAL_OUTPUT }
  if (rates === undefined || rates.perImage.size === 0) return { usage: tokens, source }
  const isFreeToRead = rates.tokens.input === undefined
  return {
    usage: { ...tokens, outputText: 0, reasoning: 0 },
    extras: { images: { [priceName(rates, facts)]: count } },
    // The images are counted, not estimated; only the tokens of the prompt may be.
    source: isFreeToRead ? 'reported' : source,
  }
}

/** What two parts of one answer have used. */
export function addUse(one: UsedUp, other: UsedUp): UsedUp {
  const images = { ...one.extras?.images }
  for (const [name, count] of Object.entries(other.extras?.images ?? {}))
    images[name] = (images[name] ?? 0) + count
  return {
    usage: {
      ...one.usage,
      inputUncached: one.usage.inputUncached + other.usage.inputUncached,
      cacheRead: one.usage.cacheRead + other.usage.cacheRead,
      outputText: one.usage.outputText + other.usage.outputText,
      reasoning: one.usage.reasoning + other.usage.reasoning,
    },
    extras: Object.keys(images).length === 0 ? undefined : { images },
    source: one.source === 'estimated' ? one.source : other.source,
  }
}

/**
 * The entry of `per_image` that an image is charged by: `SIZE/QUALITY`, `SIZE`, `QUALITY`, in this order. Where there is
 * none, what the size was called.
 */
function priceName(rates: Rates, { sizes, quality }: ImageFacts): string {
  const { perImage } = rates
  for (const size of sizes) {
    const exact = [`${size}/${quality}`, size].find(name => perImage.has(name))
    if (exact !== undefined) return exact
    // A quality that nobody named costs no less than the dearest of its size.
    const dearest = dearestOf(rates, name => name.startsWith(`${size}/`))
    if (dearest !== undefined) return dearest
  }
  if (quality !== undefined && perImage.has(quality)) return quality
  const [size] = sizes
  return size !== undefined && size.length <= LONGEST_SIZE ? size : 'default'
}

function dearestName(rates: Rates, facts: ImageFacts): string {
  const { sizes, quality } = facts
  if (sizes.length > 0 && quality !== undefined) return priceName(rates, facts)
  const [size] = sizes
  const among = (name: string) => size === undefined || name === size || name.startsWith(`${size}/`)
  return dearestOf(rates, among) ?? dearestOf(rates, () => true) ?? 'default'
}

function dearestOf({ perImage }: Rates, isMeant: (name: string) => boolean): string | undefined {
  const [dearest] = [...perImage]
    .filter(([name]) => isMeant(name))
    .sort(([, one], [, other]) => (one < other ? 1 : one > other ? -1 : 0))
  return dearest?.[0]
}
