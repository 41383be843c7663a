const WHOLE = new Intl.NumberFormat('en-US')
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const PERCENT = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 0 })
const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** `1,234,567` */
export function wholeNumber(value: number): string {
  return WHOLE.format(value)
}

/** `1.2M` */
export function compactNumber(value: number): string {
  return COMPACT.format(value)
}

/** Steps of an axis of counts: whole, and `compactNumber` says every multiple that an axis shows without rounding it. */
export const COUNT_STEPS = Array.from({ length: 15 }, (_, power) =>
  [1, 2, 5].map(step => step * 10 ** power),
).flat()

/** `131.8 MB` */
export function byteCount(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1)
  return `${COMPACT.format(bytes / 1000 ** power)} ${BYTE_UNITS[power]}`
}

/** `0.42` -> `42%` */
export function percent(share: number): string {
  return PERCENT.format(share)
}

/** `1 key`, `2 keys` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${wholeNumber(count)} ${count === 1 ? one : many}`
}

/** What a person typed as a count, or undefined if it is none. A comma is between thousands: `1,5` is one and a half to many. */
export function readCount(text: string): number | undefined {
  const trimmed = text.trim().replaceAll('_', '')
  const digits = /^\d{1,3}(,\d{3})+$/.test(trimmed) ? trimmed.replaceAll(',', '') : trimmed
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}

/** The entries of a list that people separate by commas, spaces or lines. */
export function readList(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(item => item !== ''))]
}
