/**
 * Money arrives and leaves as a decimal string of the deployment's currency ("4.999871250") and is never made a
 * float: Intl formats such strings digit by digit.
 */

/** `'4.999871250'` -> `'$4.99987125'`: every digit that counts, and at least two places. */
export function exactMoney(amount: string, currency: string): string {
  return format(amount, currency, 12)
}

/** `'4.999871250'` -> `'$4.99'`: rounded towards zero, so that nobody sees credit they do not have. Amounts below a cent keep two digits that count. */
export function shortMoney(amount: string, currency: string): string {
  const leadingZeros = /^-?0\.(0*)[1-9]/.exec(amount)?.[1]?.length ?? 0
  return format(amount, currency, leadingZeros < 2 ? 2 : leadingZeros + 2)
}

/** How many places an amount is shown with if all count: two at least. */
export function placesOf(amount: string): number {
  return Math.max(2, /\.(\d*?)0*$/.exec(amount)?.[1]?.length ?? 0)
}

/** The most places that one of these has. */
export function mostPlaces(amounts: readonly string[]): number {
  return amounts.reduce((most, amount) => Math.max(most, placesOf(amount)), 2)
}

/** Amounts that stand in a column, with as many places as the one that has most: `$0.005`, `$0.010`. */
export function alignedMoney(amounts: readonly string[], currency: string): string[] {
  const places = mostPlaces(amounts)
  return amounts.map(amount => format(amount, currency, places, places))
}

/** `'$4.00'` with its sign always said: `'+$4.00'`, `'-$0.000021'`. */
export function signedMoney(amount: string, currency: string): string {
  return isNegative(amount) || isZero(amount)
    ? exactMoney(amount, currency)
    : `+${exactMoney(amount, currency)}`
}

/** Below zero; `-0.00` is not. */
export function isNegative(amount: string): boolean {
  return amount.startsWith('-') && !isZero(amount)
}

/** Nothing, however many zeros say so. */
export function isZero(amount: string): boolean {
  return /^-?[0.]*$/.test(amount)
}

/** Above zero. */
export function isPositive(amount: string): boolean {
  return !amount.startsWith('-') && !isZero(amount)
}

/** Whether two texts are one amount, however many zeros end them. */
export function isSameMoney(one: string, other: string): boolean {
  return picoOf(one) === picoOf(other)
}

/** The exact sum, with as many places as are needed and no more. */
export function addMoney(amounts: readonly string[]): string {
  const sum = amounts.reduce((total, amount) => total + picoOf(amount), 0n)
  const digits = (sum < 0n ? -sum : sum).toString().padStart(PLACES + 1, '0')
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -PLACES)}${fraction === '' ? '' : `.${fraction}`}`
}

/** What a person typed as an amount, as the server wants it; undefined for anything but a plain decimal of at most nine places. */
export function readAmount(text: string): string | undefined {
  const trimmed = text.trim().replace(/^\$/, '')
  return /^\d{1,10}(\.\d{1,9})?$/.test(trimmed) ? trimmed : undefined
}

/** For the height of a bar and nothing else: a picture has no more digits than a float. */
export function drawnMoney(amount: string): number {
  return Number(amount)
}

const PLACES = 12

function picoOf(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount)
  if (match === null) return 0n
  const [, sign, whole = '', fraction = ''] = match
  const pico = BigInt(whole + fraction.slice(0, PLACES).padEnd(PLACES, '0'))
  return sign === '-' ? -pico : pico
}

const formats = new Map<string, Intl.NumberFormat>()

function format(amount: string, currency: string, places: number, least = 2): string {
  const name = `${currency} ${least} ${places}`
  const known = formats.get(name)
  const formatter = known ?? moneyFormat(currency, places, least)
  if (known === undefined) formats.set(name, formatter)
  return formatter.format(asDecimal(amount))
}

function moneyFormat(currency: string, places: number, least: number): Intl.NumberFormat {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    minimumFractionDigits: least,
    maximumFractionDigits: places,
    roundingMode: 'trunc',
  })
}

/** Intl takes decimal strings and keeps all of their digits; its type wants the word said that the text is one. */
function asDecimal(amount: string): Intl.StringNumericLiteral {
  return (/^-?\d+(\.\d+)?$/.test(amount) ? amount : '0') as Intl.StringNumericLiteral
}
