import type { RedisOptions } from 'ioredis'

/** `redis+sentinel://user:password@one:26379,two/name/0`: sentinels, and what they call the servers that they watch. */
export const SENTINELS = /^(rediss?)\+sentinel:\/\/([^\s/?#@]*@)?([^\s/?#@]+)\/([^\s/?#]+)(?:\/(\d+))?$/

const PORT = 26_379

/** What ioredis has to know of sentinels. */
type SentinelOptions = Pick<
  RedisOptions,
  | 'sentinels'
  | 'name'
  | 'db'
  | 'username'
  | 'password'
  | 'sentinelPassword'
  | 'tls'
  | 'sentinelTLS'
  | 'enableTLSForSentinelMode'
>

/** How to ask sentinels which server is the primary; undefined: the address is that of a server. */
export function sentinelsOf(url: string): SentinelOptions | undefined {
  const [, scheme, user = '', hosts, name = '', db = '0'] = SENTINELS.exec(url) ?? []
  if (hosts === undefined) return undefined
  const { username, password } = new URL(`redis://${user}host`)
  return {
    sentinels: hosts.split(',').map(host => {
      const { hostname, port } = new URL(`redis://${host}`)
      return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? PORT : Number(port) }
    }),
    name: decodeURIComponent(name),
    db: Number(db),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    // A user is one of the servers; a password alone is mostly the same for all.
    ...(username !== '' || password === '' ? {} : { sentinelPassword: decodeURIComponent(password) }),
    ...(scheme === 'rediss' ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  }
}
