import { wrong } from '../api/failure.ts'
import { readAmount } from './money.ts'
import { readCount } from './number.ts'

/** What was typed into a field, without the space around it; throws an ApiFailure with the message if that is nothing. */
export function typedText(text: string, field: string, message: string): string {
  return text.trim() === '' ? wrong(field, message) : text.trim()
}

/** An amount as the server wants it; throws an ApiFailure for anything else. */
export function typedAmount(text: string, field: string, example = '5.00'): string {
  return readAmount(text) ?? wrong(field, `An amount such as ${example}.`)
}

/** An amount as the server wants it, or undefined for nothing; throws an ApiFailure for anything else. */
export function optionalAmount(text: string, field: string): string | undefined {
  return text.trim() === '' ? undefined : typedAmount(text, field)
}

/** A whole number above 0; throws an ApiFailure for anything else. */
export function typedCount(text: string, field: string): number {
  return countAboveZero(text) ?? wrong(field, 'A whole number above 0.')
}

/** A whole number above 0, or undefined for nothing; throws an ApiFailure for anything else. */
export function optionalCount(text: string, field: string): number | undefined {
  if (text.trim() === '') return undefined
  return countAboveZero(text) ?? wrong(field, 'A whole number above 0, or nothing.')
}

/** A whole number of up to seven digits, with its sign; throws an ApiFailure for anything else. */
export function typedInteger(text: string, field: string, message = 'A whole number.'): number {
  return /^-?\d{1,7}$/.test(text.trim()) ? Number(text) : wrong(field, message)
}

function countAboveZero(text: string): number | undefined {
  const count = readCount(text)
  return count === 0 ? undefined : count
}
