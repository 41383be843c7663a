/**
 * A non-negative decimal number as a plain string: digits, perhaps a point and more digits, no exponent, no needless
 * zeros. Undefined for anything else. Works on text, so that money never passes through a float.
 */
export function readDecimal(text: string): string | undefined {
  const match = /^\+?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text)
  const whole = match?.[1] ?? ''
  const fraction = match?.[2] ?? ''
  if (whole === '' && fraction === '') return undefined
  return shift(whole, fraction, Number(match?.[3] ?? '0'))
}

/** How many digits a plain decimal has behind the point. */
export function decimalPlaces(decimal: string): number {
  return decimal.split('.')[1]?.length ?? 0
}

/** Whether a plain decimal is above a whole number. */
export function isAbove(decimal: string, most: number): boolean {
  const [whole = '', fraction] = decimal.split('.')
  const floor = BigInt(whole)
  return floor > BigInt(most) || (floor === BigInt(most) && fraction !== undefined)
}

/** Moves the point by the exponent and trims. */
function shift(whole: string, fraction: string, exponent: number): string {
  const digits = whole + fraction
  const point = whole.length + exponent
  const padded = digits.padStart(digits.length - Math.min(point, 0), '0').padEnd(point, '0')
  const cut = Math.max(point, 0)
  const before = padded.slice(0, cut).replace(/^0+(?=\d)/, '')
  const after = padded.slice(cut).replace(/0+$/, '')
  return `${before === '' ? '0' : before}${after === '' ? '' : `.${after}`}`
}
