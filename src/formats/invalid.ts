import { GatewayError } from '@/errors/gateway-error.ts'
import type { RequestField } from '@/generation/loss.ts'
import type { MediaPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'

/** A path has keys of the caller's own, which may be a megabyte long, and goes into the answer twice, a log line and a row. */
const MAX_PATH = 200

/** A 400 that names the field. `path` is one in the caller's body, as `messages[2].content`. */
export function invalidRequest(path: string, problem: string): GatewayError {
  const param = path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}...`
  return new GatewayError('invalid_request', `Invalid value for '${param}': ${problem}`, { param })
}

/**
 * A text that an object must have.
 * @throws GatewayError `invalid_request` where it has none
 */
export function requiredString(object: JsonObject, key: string, path: string): string {
  const value = object[key]
  if (typeof value !== 'string') throw invalidRequest(`${path}.${key}`, 'expected a string')
  return value
}

/** A 400 for something that is valid but that the chosen upstream cannot be asked for. */
export function unsupported(param: string, problem: string): GatewayError {
  return new GatewayError('unsupported_parameter', `'${param}' ${problem}`, { param })
}

/** The same from an encoder, which knows what a field is and not how its caller spells it. */
class UnsayableError extends GatewayError {
  readonly field: RequestField
  readonly problem: string

  constructor(field: RequestField, problem: string) {
    super('unsupported_parameter', `'${field}' ${problem}`, { param: field })
    this.field = field
    this.problem = problem
  }
}

/** A 400 of an encoder for a field that its format cannot be asked for; `respelled` gives it the caller's name. */
export function unsayable(field: RequestField, problem: string): GatewayError {
  return new UnsayableError(field, problem)
}

/** A 400 of an encoder for media that its upstream cannot be given. */
export function unsayableMedia({ source }: Pick<MediaPart, 'source'>, problem: string): GatewayError {
  return unsayable(source.type === 'url' || source.type === 'file-id' ? 'mediaAddress' : 'media', problem)
}

/** Refuses a wish for several answers, for formats that have one a request. */
export function refuseSeveral({ candidates = 1 }: Pick<GenerationRequest, 'candidates'>): void {
  if (candidates > 1) throw unsayable('candidates', 'must be 1: this model gives one answer a request')
}

/** The error with the field called what `spell` calls it; any other error as it is. */
export function respelled(error: unknown, spell: (field: RequestField) => string): unknown {
  return error instanceof UnsayableError ? unsupported(spell(error.field), error.problem) : error
}
