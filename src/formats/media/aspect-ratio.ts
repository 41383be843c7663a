import type { ImageSize } from '@/generation/image.ts'

/** Further from it than this is another shape: 1792x1024 is 16:9, 1536x1024 is not. */
const TOLERANCE = 0.03

/** The nearest of some aspect ratios (`16:9`), and whether it is the same shape. */
export function nearestRatio(
  size: ImageSize,
  ratios: readonly string[],
): { ratio: string; isSame: boolean } | undefined {
  const wanted = Math.log(size.width / size.height)
  const [nearest] = ratios
    .map(ratio => ({ ratio, distance: Math.abs(wanted - Math.log(quotient(ratio))) }))
    .sort((one, other) => one.distance - other.distance)
  return nearest && { ratio: nearest.ratio, isSame: nearest.distance < TOLERANCE }
}

/** An aspect ratio as a size of about a megapixel, to look for the nearest of some sizes. */
export function sizeOfRatio(ratio: string): ImageSize | undefined {
  const value = quotient(ratio)
  if (!(value > 0) || !Number.isFinite(value)) return undefined
  return { width: Math.round(1024 * Math.sqrt(value)), height: Math.round(1024 / Math.sqrt(value)) }
}

/** `1024x768`; undefined for `auto` and whatever else is no size. */
export function parseSize(text: string | undefined): ImageSize | undefined {
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(text ?? '')
  const size = { width: Number(match?.[1]), height: Number(match?.[2]) }
  return size.width > 0 && size.height > 0 ? size : undefined
}

function quotient(ratio: string): number {
  const [width = Number.NaN, height = Number.NaN] = ratio.split(':').map(Number)
  return width / height
}
