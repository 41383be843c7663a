import { GatewayError } from '@/errors/gateway-error.ts'

/**
 * The key a caller brought; the first carrier present decides: `Authorization: Bearer`, `x-api-key`
 * where Anthropic's clients go, `x-goog-api-key`, query `key`.
 * @throws GatewayError `missing_api_key`, or `invalid_api_key` for an Authorization header of another kind
 */
export function readCredential(request: Request): string {
  const authorization = request.headers.get('authorization')
  if (authorization !== null) return readBearer(authorization)
  const key =
    anthropicKey(request) ??
    request.headers.get('x-goog-api-key') ??
    new URL(request.url).searchParams.get('key')
  if (key === null || key === '') {
    throw new GatewayError(
      'missing_api_key',
      'No API key was given; send it as Authorization: Bearer KEY, or in the header of your client library',
    )
  }
  return key
}

function readBearer(authorization: string): string {
  const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (key !== undefined) return key
  throw new GatewayError('invalid_api_key', 'The Authorization header must be: Bearer KEY')
}

/** Anthropic's header, on the paths where Anthropic's clients go. */
function anthropicKey({ headers, url }: Request): string | null {
  const key = headers.get('x-api-key')
  if (key === null) return null
  const path = url.indexOf('/', url.indexOf('//') + 2)
  return url.startsWith('/v1/messages', path) || url.startsWith('/v1/models', path) ? key : null
}

/** Whether the key came the way Google's clients bring it, which decides the shape of the model list. */
export function broughtAsGoogle(request: Request, query: URLSearchParams): boolean {
  return (
    request.headers.get('authorization') === null &&
    request.headers.get('x-api-key') === null &&
    (request.headers.has('x-goog-api-key') || query.has('key'))
  )
}
