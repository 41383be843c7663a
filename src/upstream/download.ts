import { GatewayError } from '@/errors/gateway-error.ts'
import { type AddressGuard, type Dial, orAborted } from './address-guard.ts'
import type { Channel } from './channel.ts'
import type { RedirectRules } from './redirects.ts'

/** Headers that say what is wanted, and nothing about who wants it. */
const PASSED = ['accept', 'accept-encoding', 'range', 'if-range', 'user-agent']

/** The call whose answer may be a redirect. */
interface Download {
  channel: Channel
  guard: AddressGuard
  /** Where it was sent. */
  url: string
  /** What was sent there; the key is among them. */
  headers: Readonly<Record<string, string>>
  signal: AbortSignal
}

/**
 * How an upstream's downloads are followed. Only to the very origin of the channel are its key and headers sent again; any
 * other host must be public and learns nothing.
 */
export function downloadRules({ channel, guard, url, headers, signal }: Download): RedirectRules {
  return {
    // More than any vendor's downloads lead through.
    most: 5,
    fetch: async (next, from) => {
      refuseOther(next, from)
      const isOwn = new URL(next).origin === new URL(url).origin
      const dial = await orAborted(isOwn ? guard.dial(channel, next) : guard.dialPublic(next), signal)
      const sent = isOwn ? headers : withoutSecrets(headers)
      return await fetch(dial.url, { ...initOf(dial), headers: { ...sent, ...dial.headers }, signal })
    },
    lost,
  }
}

function initOf(dial: Dial): RequestInit {
  return {
    redirect: 'manual',
    // Bun's name for "no limit of its own"; not in the DOM's RequestInit.
    ...{ timeout: false },
    ...(dial.tls === undefined ? {} : { tls: dial.tls }),
  }
}

function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => PASSED.includes(name.toLowerCase())))
}

/** What was fetched over TLS is not fetched on without. */
function refuseOther(next: string, from: string): void {
  const { protocol } = new URL(next)
  const isFine = protocol === 'https:' || (protocol === 'http:' && new URL(from).protocol === 'http:')
  if (!isFine) throw lost('leads to what is no address')
}

function lost(how: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream's redirect ${how}`)
}
