import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { TSchema } from '@sinclair/typebox/type'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { JsonObject } from '@/json/json.ts'

/** A 400 that names the field. `param` is a path in the caller's body, as `messages[2].content`. */
export function invalidRequest(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `Invalid value for '${param}': ${problem}`, { param })
}

/** A 400 for something that is valid but that the chosen upstream cannot be asked for. */
export function unsupported(param: string, problem: string): GatewayError {
  return new GatewayError('unsupported_parameter', `'${param}' ${problem}`, { param })
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
  throw invalidRequest(spell(pathOf(first.path)) || 'body', first.message.toLowerCase())
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
