import type { TypeCheck } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox/type'
import type { JsonObject } from '@/json/json.ts'
import { invalidRequest } from './invalid.ts'

/** The schema of an object of which these fields are looked at; all others pass, tomorrow's among them. */
export function open<T extends TProperties>(fields: T): TObject<T> {
  return Type.Object(fields, { additionalProperties: true })
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
