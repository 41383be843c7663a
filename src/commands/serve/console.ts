import { bind } from '@/commands/bind.ts'
import { programVersion } from '@/commands/version.ts'
import type { Settings } from '@/config/settings.ts'
import { buildBundle } from '@/console/bundle.ts'
import { serveConsole } from '@/console/console.ts'
import type { Console } from '@/console/deployment.ts'
import { lookupGate } from '@/console/gate.ts'
import { sendMail } from '@/console/mail.ts'
import { keepTellingOfLowCredit } from '@/console/money/credit-notices.ts'
import { stripeClient } from '@/console/money/payments.ts'
import { LiveTail } from '@/console/requests/live-tail.ts'
import { keepAddingUpUsage } from '@/console/requests/usage-totals.ts'
import { createPasswords } from '@/console/sign-in/passwords.ts'
import { Throttle } from '@/console/sign-in/throttle.ts'
import { openLiveCatalog } from '@/routing/catalog/live-catalog.ts'
import { createAddressGuard, usesProxy } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { tcpReach } from '@/upstream/connections.ts'
import { lazySimulator } from './lazy-simulator.ts'

/** What a console needs of the process that has it. */
interface ConsoleOptions
  extends Pick<Console, 'database' | 'secretBox' | 'clock' | 'log' | 'readings'>,
    // What a test takes its own of.
    Partial<Pick<Console, 'passwords' | 'sendMail' | 'stripe'>> {
  settings: Pick<Settings, 'console' | 'publicApiUrl' | 'publicConsoleUrl' | 'trustedProxies'>
  /** Where the API host listens. */
  apiUrl: string
}

/** A console that listens. */
export interface RunningConsole {
  url: string
  console: Console
  stop(): Promise<void>
}

/** Builds and wires the console on an open database, and listens. There is one in a deployment's main process. */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { settings, database, secretBox, clock, log } = options
  await using opened = new AsyncDisposableStack()
  const catalog = await openLiveCatalog({
    db: database,
    secretBox,
    clock,
    onError: error => log.error({ err: error }, "the console's catalog could not be reloaded"),
  })
  opened.defer(() => catalog.close())
  const simulator = lazySimulator()
  opened.defer(() => simulator.stop())
  const proxied = usesProxy(process.env)
  const apiUrl = reachable(options.apiUrl)
  let publicUrl = settings.publicConsoleUrl ?? ''
  const console: Console = {
    database,
    secretBox,
    clock,
    log,
    catalog,
    readings: options.readings,
    upstream: createUpstreamClient({
      clock,
      guard: createAddressGuard({ clock, proxied }),
      simulatorUrl: simulator.url,
      reach: proxied ? undefined : tcpReach,
    }),
    passwords: options.passwords ?? createPasswords(),
    throttle: new Throttle(clock),
    tail: new LiveTail({ database, clock, log }),
    lookups: lookupGate(),
    apiUrl,
    publicApiUrl: settings.publicApiUrl ?? apiUrl,
    publicUrl: () => publicUrl,
    sendMail: options.sendMail ?? sendMail,
    stripe: options.stripe ?? stripeClient,
    version: programVersion(),
    startedAt: clock.now(),
  }
  const { trustedProxies } = settings
  const { host, port } = settings.console
  const bundle = buildBundle()
  bundle.catch(error => log.error({ err: error }, 'the pages of the console could not be built'))
  opened.defer(keepAddingUpUsage({ database, clock, log }))
  opened.defer(keepTellingOfLowCredit(console))
  const server = bind({ host: 'CONSOLE_HOST', port: 'CONSOLE_PORT' }, { host, port }, () =>
    serveConsole(console, bundle, { hostname: host, port, trustedProxies }),
  )
  opened.defer(() => server.stop())
  const url = server.url.origin
  if (publicUrl === '') publicUrl = reachable(url)
  const parts = opened.move()
  return { url, console, stop: () => parts.disposeAsync() }
}

/** An address that means "every interface" is none to call. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')
}
