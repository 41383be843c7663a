import type { TypeCheck } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import type { TSchema } from '@sinclair/typebox/type'
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

/**
 * Holds a body to a compiled schema. `spell` turns a path of the checked body into the caller's own spelling.
 * @throws GatewayError `invalid_request` for the first fault. The submitted value is never echoed.
 */
export function assertShape<T extends TSchema>(
  check: TypeCheck<T>,
  body: JsonObject,
  spell: (path: string) => string = path => path,
): void {
  if (check.Check(body)) return
  const first = check.Errors(body).First()
  if (first === undefined) return
  const { pointer, problem } = faultOf(first)
  throw invalidRequest(spell(pathOf(pointer)) || 'body', problem)
}

/**
 * Where a fault is and what is wrong there, in words. Of the alternatives of a union the one that the value came
 * closest to speaks; where it is none of them at all, every one is named.
 */
function faultOf(error: ValueError): { pointer: string; problem: string } {
  const { path: pointer, message, type, errors } = error
  if (type === ValueErrorType.ObjectRequiredProperty) return { pointer, problem: 'required' }
  const faults = errors.flatMap(alternative => alternative.First() ?? []).map(faultOf)
  const closest = faults.find(fault => fault.pointer.length > pointer.length)
  if (closest !== undefined) return closest
  const expected = new Set(faults.map(({ problem }) => problem.replace(/^expected /, '')))
  const problem = expected.size === 0 ? message.replace(/^E/, 'e') : `expected ${[...expected].join(' or ')}`
  return { pointer, problem }
}

/** A JSON pointer (`/messages/0/content`) as a field path (`messages[0].content`). */
function pathOf(pointer: string): string {
  let path = ''
  for (const raw of pointer.split('/').slice(1)) {
    const segment = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    if (/^\d+$/.test(segment)) path += `[${segment}]`
    else path += path === '' ? segment : `.${segment}`
  }
  return path
}
