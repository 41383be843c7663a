import type { Listener } from '@/config/settings.ts'
import { Refusal } from '@/errors/refusal.ts'

/**
 * What `serve` gives, where it listens at an address that two variables name: `PORT` and `HOST`, say.
 * @throws Refusal naming the variable of the port where the address cannot be had
 */
export function bind<Server>(portName: string, { host, port }: Listener, serve: () => Server): Server {
  try {
    return serve()
  } catch (cause) {
    const isAddress = cause instanceof Error && 'code' in cause && ADDRESS_ERRORS.has(String(cause.code))
    if (!isAddress) throw cause
    throw new Refusal(`${portName} ${port} on ${host} cannot be used: ${cause.message}`, { cause })
  }
}

/** Taken, forbidden, of another machine, and of no machine at all. */
const ADDRESS_ERRORS: ReadonlySet<string> = new Set(['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'EINVAL'])
