import { type Listener, SettingsError } from '@/config/settings.ts'
import { Refusal } from '@/errors/refusal.ts'

/** What names a listener's address: two variables, say. */
export interface AddressNames {
  host: string
  port: string
}

/**
 * What `serve` gives, where it listens.
 * @throws SettingsError naming the host where this machine has no such address
 * @throws Refusal naming the port where that cannot be had: taken, or not ours to take
 */
export function bind<Server>(names: AddressNames, { host, port }: Listener, serve: () => Server): Server {
  try {
    return serve()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    if (HOST_ERRORS.has(code)) {
      const expected = 'an address of this machine, or a name of one'
      throw new SettingsError([`${names.host} is ${JSON.stringify(host)} but must be ${expected}`])
    }
    if (!PORT_ERRORS.has(code)) throw cause
    const reason = code === 'EACCES' ? 'this process may not take it' : 'something else listens there'
    throw new Refusal(`${names.port} ${port} on ${host} cannot be used: ${reason}`, { cause })
  }
}

/** Of another machine, and of none at all: Bun says EINVAL of a name that leads nowhere. */
const HOST_ERRORS: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EINVAL'])
const PORT_ERRORS: ReadonlySet<string> = new Set(['EADDRINUSE', 'EACCES'])
