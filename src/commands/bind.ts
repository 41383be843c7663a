import { lookup } from 'node:dns/promises'
import { type ListenAddress, SettingsError } from '@/config/settings.ts'
import { codeOf } from '@/errors/code.ts'
import { Refusal } from '@/errors/refusal.ts'

/** What names a listener's address: two variables, say. */
interface AddressNames {
  host: string
  port: string
}

/**
 * What `serve` gives, where it listens.
 * @throws SettingsError naming the host where this machine has no such address
 * @throws Refusal naming the port where that cannot be had: taken, or not ours to take
 */
export function bind<Server>(
  names: AddressNames,
  { host, port }: ListenAddress,
  serve: () => Server,
): Server {
  try {
    return serve()
  } catch (cause) {
    const code = codeOf(cause)
    if (code === 'EADDRNOTAVAIL') throw new SettingsError([noAddress(names.host, host)])
    if (!PORT_ERRORS.has(code)) throw cause
    const reason = code === 'EACCES' ? 'this process may not take it' : 'something else listens there'
    throw new Refusal(`${names.port} ${port} on ${host} cannot be used: ${reason}`, { cause })
  }
}

/**
 * Looks the hosts of listeners up before anything is opened: where a name leads nowhere, Bun's own error is whatever
 * went wrong last in the process.
 * @param hosts by what names them
 * @throws SettingsError naming each that leads nowhere
 */
export async function requireKnownHosts(hosts: Readonly<Record<string, string>>): Promise<void> {
  const found = await Promise.all(
    Object.entries(hosts).map(([name, host]) =>
      lookup(host).then(
        () => [],
        () => [noAddress(name, host)],
      ),
    ),
  )
  const wrong = found.flat()
  if (wrong.length > 0) throw new SettingsError(wrong)
}

function noAddress(name: string, host: string): string {
  return `${name} is ${JSON.stringify(host)} but must be an address of this machine, or a name of one`
}

const PORT_ERRORS: ReadonlySet<string> = new Set(['EADDRINUSE', 'EACCES'])
