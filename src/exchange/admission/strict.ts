import { GatewayError } from '@/errors/gateway-error.ts'

const STRICT_HEADER = 'x-tollgate-strict'

/**
 * Whether the caller would rather have an error than a loss. A value that means neither is refused: taken for no, it
 * would do the very thing that its sender wanted to rule out.
 * @throws GatewayError `invalid_request`
 */
export function wantsStrict(headers: Headers): boolean {
  const value = headers.get(STRICT_HEADER)
  if (value === null) return false
  const word = value.toLowerCase()
  if (word === 'true' || word === 'false') return word === 'true'
  throw new GatewayError('invalid_request', `The header '${STRICT_HEADER}' must be true or false`, {
    param: STRICT_HEADER,
  })
}
