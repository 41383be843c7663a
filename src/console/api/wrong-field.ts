import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { type ConsoleError, invalid } from '../failure.ts'

/** The first thing in a request that does not fit its schema, in words for the person who typed it. */
export function wrongField(found: ValueError): ConsoleError {
  const wrong = innermost(found)
  const field = wrong.path.slice(1).replaceAll('/', '.')
  const message = messageOf(wrong)
  return invalid(field, field === '' ? message : `${field}: ${message}`)
}

/** Of a choice that fits in no way: what is wrong in the one that fits best, or in the only one beside null. */
function innermost(error: ValueError): ValueError {
  const inner = error.errors
    .flatMap(errors => errors.First() ?? [])
    .filter(({ type }) => type !== ValueErrorType.Null)
  const [best, ...others] = inner.toSorted((one, other) => other.path.length - one.path.length)
  if (best === undefined) return error
  return best.path.length > error.path.length || others.length === 0 ? innermost(best) : error
}

/** What the schema itself says of it, or what its bounds are; TypeBox's own words name neither. */
function messageOf({ type, schema, message }: ValueError): string {
  const { errorMessage, minLength, maxLength, minimum, maximum, minItems, maxItems } = schema
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return 'This is missing'
    case ValueErrorType.ObjectAdditionalProperties:
      return 'There is no such field'
    default:
      if (typeof errorMessage === 'string') return errorMessage
  }
  switch (type) {
    case ValueErrorType.StringMinLength:
      return minLength === 1 ? 'This may not be empty' : `At least ${minLength} characters`
    case ValueErrorType.StringMaxLength:
      return `At most ${maxLength} characters`
    case ValueErrorType.StringPattern:
      return 'This is not written as it should be'
    case ValueErrorType.Integer:
      return 'A whole number'
    case ValueErrorType.IntegerMinimum:
      return `A whole number of at least ${minimum}`
    case ValueErrorType.IntegerMaximum:
      return `A whole number of at most ${maximum}`
    case ValueErrorType.Union:
      return 'This is none of the choices'
    case ValueErrorType.ArrayMinItems:
      return `At least ${minItems} to choose`
    case ValueErrorType.ArrayMaxItems:
      return `At most ${maxItems}`
    default:
      return message
  }
}
