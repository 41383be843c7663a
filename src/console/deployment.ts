import type Stripe from 'stripe'
import type { Clock } from '@/clock/clock.ts'
import type { ConsoleEntry } from '@/config/entries.ts'
import type { Database } from '@/db/connect.ts'
import type { LedgerState } from '@/ledger/ledger.ts'
import type { Defaults } from '@/routing/catalog/defaults.ts'
import type { ChannelHealth } from '@/routing/health/health.ts'
import type { Catalog } from '@/routing/model.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Channel } from '@/upstream/channel.ts'
import type { UpstreamClient } from '@/upstream/client.ts'
import { loadConsoleEntry } from './console-entry.ts'
import type { Gate } from './gate.ts'
import type { SendMail } from './mail.ts'
import type { LiveTail } from './requests/live-tail.ts'
import type { Passwords } from './sign-in/passwords.ts'
import type { Throttle } from './sign-in/throttle.ts'

/** What the console is told of the process that it is in. */
export interface Readings {
  /** Undefined: this process serves no requests itself. */
  ledger(): LedgerState | undefined
  channels(channels: Iterable<Channel>): ChannelHealth[]
  redis(): 'off' | 'ok' | 'away'
}

/** Everything that the console's routes work with. */
export interface Console {
  database: Database
  secretBox: SecretBox
  clock: Clock
  log: Log
  catalog: Catalog & { defaults(): Defaults; reload(): Promise<void> }
  readings: Readings
  upstream: UpstreamClient
  passwords: Passwords
  throttle: Throttle
  tail: LiveTail
  /** What looks at many rows goes through it. */
  lookups: Gate
  /** Where this process reaches the API host. */
  apiUrl: string
  /** What people are told; both without a trailing slash. */
  publicApiUrl: string
  publicUrl(): string
  /** Sends through the server that is configured; a test takes its own. */
  sendMail: SendMail
  stripe(secretKey: string): Promise<Stripe>
  version: string
  startedAt: number
}

/** What the operator says of the console now. */
export function entryOf({ database, secretBox }: Console): Promise<ConsoleEntry> {
  return loadConsoleEntry(database.orm, secretBox)
}
