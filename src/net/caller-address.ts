import { isIP } from 'node:net'
import { isWithin } from './ip-range.ts'

/**
 * Where a request came from. That is its socket's address, unless that is a proxy of the operator's: such a one appends to
 * `X-Forwarded-For` whom it heard, so the list is read from its end for as long as those who tell are trusted. What stands
 * before that is anybody's word.
 * @param socket the address of the request's socket; undefined if that is closed
 * @param trusted addresses and CIDR ranges of proxies
 * @returns undefined where a trusted proxy names nobody
 */
export function callerAddress(
  socket: string | undefined,
  headers: Headers,
  trusted: readonly string[],
): string | undefined {
  if (socket === undefined || trusted.length === 0) return socket
  const told = headers.get('x-forwarded-for')?.split(',') ?? []
  let address: string | undefined = socket
  while (address !== undefined && told.length > 0 && isWithin(address, trusted))
    address = readAddress(told.pop())
  return address
}

/** Some proxies write a port behind the address, which then has brackets if it is of IPv6. */
function readAddress(text = ''): string | undefined {
  const bare = text.trim().replace(/^\[(.*)\](:\d+)?$/, '$1')
  const address = isIP(bare) === 0 ? bare.replace(/:\d+$/, '') : bare
  return isIP(address) === 0 ? undefined : address
}
