/** Money is bigint nano units (1e-9) of the deployment's currency in the program, and a decimal string outside. */

const NANO_DIGITS = 9
const NANO_PER_UNIT = 10n ** BigInt(NANO_DIGITS)
/** What a bigint column holds: 9.2 thousand million units. */
export const LARGEST_NANO = 2n ** 63n - 1n
/** What an amount that somebody typed may be, for whoever typed another. */
export const MONEY_BOUNDS = 'it has 9 decimal places at most, and is below 9223372036'
const DECIMAL = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/

/** `'5.00'` -> `5000000000n`, exactly. Undefined for what is not a decimal, is finer than a nano, or is too large. */
export function parseMoney(text: string): bigint | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign, units = '', fraction = ''] = match
  const nano = BigInt(units) * NANO_PER_UNIT + BigInt(fraction.padEnd(NANO_DIGITS, '0'))
  if (nano > LARGEST_NANO) return undefined
  return sign === '-' ? -nano : nano
}

/** `4999871250n` -> `'4.999871250'`: always nine decimals, so that equal amounts are equal strings. */
export function formatMoney(nano: bigint): string {
  const magnitude = nano < 0n ? -nano : nano
  const fraction = (magnitude % NANO_PER_UNIT).toString().padStart(NANO_DIGITS, '0')
  return `${nano < 0n ? '-' : ''}${magnitude / NANO_PER_UNIT}.${fraction}`
}
